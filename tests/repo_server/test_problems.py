"""Errors as answers: problem documents, and the reference's forms where its clients call."""

from __future__ import annotations

import orjson
import pytest
from aiohttp import web

from opendatafabric.errors import ChainError, MalformedInput, NotFound, RefConflict, StorageError
from repo_server.error_table import ERROR_TYPES, TYPES_PATH, status_of
from repo_server.problems import PROBLEM, message, plain, problem, refusal_as_problem
from tests.repo_server.hosted import Answer, Hosted, a_chain


def told(response: web.Response | Answer) -> dict[str, object]:
    assert isinstance(response.body, bytes)
    document: dict[str, object] = orjson.loads(response.body)
    return document


def test_an_error_is_a_document_with_the_fields_of_the_rfc_and_ours() -> None:
    response = problem(RefConflict("the head moved", expected="a", found="b", hint="pull first"), "r-1")
    assert (response.status, response.content_type) == (409, PROBLEM)
    assert told(response) == {
        "type": f"{TYPES_PATH}ref-conflict",
        "title": "another writer moved the head first",
        "status": 409,
        "detail": "the head moved",
        "instance": "r-1",
        "code": "ref-conflict",
        "message": "the head moved",
        "retryable": False,
        "expected": "a",
        "found": "b",
        "hint": "pull first",
    }


def test_a_rule_of_the_chain_is_named() -> None:
    document = told(problem(ChainError("no seed", rule="seed-first", sequence_number=0), "r-1"))
    assert (document["status"], document["rule"], document["sequence_number"]) == (422, "seed-first", "0")


@pytest.mark.parametrize("field", ["detail", "message", "hint", "expected", "found"])
def test_a_secret_is_blotted_out_wherever_it_stands(field: str) -> None:
    secret = "ka_00000000000000000000000"
    document = told(problem(MalformedInput(secret, hint=secret, expected=secret, found=secret), "r-1"))
    assert document[field] == "[redacted]"


def test_a_failure_of_ours_tells_nothing_but_its_number() -> None:
    document = told(problem(StorageError("/var/secret/place is broken"), "r-7"))
    assert (document["status"], document["code"], document["instance"]) == (500, "error", "r-7")
    assert "secret" not in str(document)


def test_an_unknown_family_is_told_as_the_nearest_known_one() -> None:
    class Stranger(NotFound):
        code = "stranger"

    document = told(problem(Stranger("gone"), "r-1"))
    assert (document["type"], document["status"], document["code"]) == (f"{TYPES_PATH}not-found", 404, "stranger")
    assert status_of(Stranger) == 404


@pytest.mark.parametrize(
    ("response", "code", "detail"),
    [
        (web.Response(status=404), "not-found", ERROR_TYPES["not-found"].title),
        (plain("no bearer", web.HTTPBadRequest.status_code), "malformed-input", "no bearer"),
        (message("not you", web.HTTPForbidden.status_code), "access-denied", "not you"),
        (web.Response(status=415), "unsupported-media-type", ERROR_TYPES["unsupported-media-type"].title),
    ],
)
def test_a_refusal_in_another_form_becomes_a_document(response: web.Response, code: str, detail: str) -> None:
    response.headers["WWW-Authenticate"] = "Bearer"
    document = refusal_as_problem(response, "r-1")
    assert (document.status, document.headers["WWW-Authenticate"]) == (response.status, "Bearer")
    assert (told(document)["code"], told(document)["detail"]) == (code, detail)


def test_an_answer_that_no_family_says_stays_as_it_is() -> None:
    response = web.Response(status=304)
    assert refusal_as_problem(response, "r-1") is response


async def test_routes_of_our_own_refuse_with_documents_and_those_of_the_reference_in_its_form(multi: Hosted) -> None:
    path = multi.path("nowhere")
    ours, theirs = await multi.ask("GET", f"{path}/reports"), await multi.ask("GET", f"{path}/refs/head")
    assert (theirs.status, theirs.body) == (404, b"")
    assert (ours.status, ours.headers["Content-Type"]) == (404, PROBLEM)
    assert told(ours)["instance"] == ours.headers["X-Request-Id"]


async def test_a_malformed_authorization_is_a_document_on_routes_of_our_own(multi: Hosted) -> None:
    await multi.add("open", a_chain())
    answer = await multi.ask("GET", f"{multi.path('open')}/reports", headers={"Authorization": "Basic x"})
    assert (answer.status, told(answer)["detail"]) == (400, "Invalid Bearer token header")


async def test_the_type_of_a_problem_leads_to_what_it_means(multi: Hosted) -> None:
    place = str(told(await multi.ask("GET", f"{multi.path('nowhere')}/reports"))["type"])
    explained = told(await multi.ask("GET", place))
    assert (explained["type"], explained["remedy"]) == (place, "check the spelling")
    page = await multi.ask("GET", place, headers={"Accept": "text/html"})
    assert (page.status, "something asked for by name is not there" in page.text) == (200, True)


async def test_a_code_that_is_none_is_not_found(multi: Hosted) -> None:
    assert (await multi.ask("GET", f"{TYPES_PATH}..%2f..%2fetc")).status == 404


@pytest.mark.parametrize("given", ["a" * 65, "r 1", "r\u00e9", "", "<b>", "a\tb"])
async def test_a_number_for_a_request_is_taken_only_in_its_form(multi: Hosted, given: str) -> None:
    answer = await multi.ask("GET", "/system/health", headers={"X-Request-Id": given})
    assert answer.headers["X-Request-Id"] != given


async def test_a_number_in_its_form_is_that_of_the_answer(multi: Hosted) -> None:
    answer = await multi.ask("GET", "/system/health", headers={"X-Request-Id": "mine-1"})
    assert answer.headers["X-Request-Id"] == "mine-1"
