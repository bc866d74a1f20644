"""The OpenAPI document: every route is in it, and it says of each what follows from the table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from repo_server.config import Tenancy
from repo_server.openapi.described import operation_of
from repo_server.openapi.document import openapi_document, operation_id
from repo_server.problems import PROBLEM
from repo_server.routes import EVERY_ROUTE, Route, served
from tests.for_every import for_every
from tests.repo_server.documented import Documented
from tests.repo_server.hosted import Hosted

ROUTES = served(Tenancy.MULTI, with_ipfs=True)
DOCUMENT = openapi_document(ROUTES, "http://127.0.0.1", "0")


def operation(method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][path][method]
    return found


@for_every(EVERY_ROUTE, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_described(route: Route) -> None:
    assert operation_of(route.handler) is not None, "put @describes(…) above the handler, as its neighbours have it"


@for_every(Tenancy)
def test_the_document_is_one_of_openapi(tenancy: Tenancy) -> None:
    OPENAPI_31_VALIDATOR.validate(openapi_document(served(tenancy, with_ipfs=True), "http://127.0.0.1", "0"))


def test_every_operation_has_a_name_of_its_own() -> None:
    names = Counter(each["operationId"] for path in DOCUMENT["paths"].values() for each in path.values())
    assert not [name for name, count in names.items() if count > 1]


def test_a_name_is_made_of_method_and_path() -> None:
    assert operation_id("GET", "/system/errors/{code}") == "getSystemErrorsCode"
    assert operation_id("GET", "/ipfs/{cid}/{path:.*}") == "getIpfsCidPath"


def test_a_route_for_writers_tells_of_tokens_and_permissions() -> None:
    told = operation("put", "/{account}/{name}/gate")
    assert {"400", "401", "403", "404"} <= set(told["responses"])
    assert told["security"] == [{"token": []}]


def test_a_route_for_readers_may_be_asked_without_a_token() -> None:
    told = operation("get", "/{account}/{name}/reports")
    assert "403" not in told["responses"]
    assert told["security"] == [{}, {"token": []}]


def test_a_route_that_looks_at_no_token_says_so() -> None:
    told = operation("get", "/system/health")
    assert (told["security"], set(told["responses"])) == ([], {"200", "503"})


def test_refusals_have_the_form_of_the_reference_where_it_has_the_route() -> None:
    theirs, ours = operation("get", "/{account}/{name}/refs/{ref}"), operation("get", "/{account}/{name}/reports")
    assert set(theirs["responses"]["404"]["content"]) == {PROBLEM, "application/json", "text/plain"}
    assert set(ours["responses"]["404"]["content"]) == {PROBLEM, "text/html"}


async def test_a_server_gives_out_its_document(multi: Hosted) -> None:
    told = orjson.loads((await multi.ask("GET", "/openapi.json")).body)
    assert told["servers"] == [{"url": multi.url}]
    assert "/{account}/{name}/refs/{ref}" in told["paths"]
    assert not [path for path in told["paths"] if path.startswith("/ipfs")]


@pytest.mark.parametrize(
    ("status", "content_type", "body", "complaint"),
    [
        (418, "application/json", b"{}", "418 is not documented"),
        (200, "text/html", b"<p>", "text/html is not documented"),
        (200, "application/json", b'{"ok": true, "more": 1}', "is not as documented"),
        (200, "application/json", b"{}", "is not as documented"),
    ],
)
def test_an_answer_that_is_not_documented_is_found(status: int, content_type: str, body: bytes, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        Documented(DOCUMENT).check("GET", "/system/health", status, content_type, body)
