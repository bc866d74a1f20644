"""Schemathesis over the whole API of a running server, by every kind of caller: no failure, nothing undocumented.

Seeds are fixed in CI and free at night: by the profile of Hypothesis, as for all properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, CheckContext, GenerationMode, Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from repo_server.config import Tenancy
from repo_server.openapi import asyncapi
from repo_server.openapi.document import plain_path
from repo_server.routes import served
from tests.repo_server.openapi.fuzzing import CALLERS, RECORDED_NAMES, ROWS, Fuzzed, document, fuzzed

ANSWERS_S: Final = 30
OF_REFERENCE: Final = {plain_path(each.path) for each in served(Tenancy.MULTI) if each.route.of_reference}
WE_FAILED: Final = {500, 502, 504}
CHECKS: Final = [status_code_conformance, response_headers_conformance]
CHECKS_OF_BODIES: Final = [content_type_conformance, response_schema_conformance]
DOCUMENT: Final = document()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
TALKS: Final = {plain_path(each.path) for each in served(Tenancy.MULTI) if each.route.path in asyncapi.TALKS}
"""Left out: conversations over a WebSocket, and streams that go on for as long as somebody listens, are no exchange of
request and answer. They are in the other document, and have tests of their own."""

ANSWERED: Final = {
    "GET /{account}/{name}/tail",
    "GET /{account}/{name}/metadata",
    "GET /{account}/{name}/lineage",
    "GET /{account}/{name}/data.csv",
    "GET /{account}/{name}/data.ndjson",
    "GET /{account}/{name}/data.arrow",
    "GET /{account}/{name}/data.parquet",
    "GET /{account}/{name}/log",
    "GET /{account}/{name}/croissant.json",
    "POST /{account}/{name}/ingest",
    "GET /query",
    "POST /query",
}
"""What has to be fuzzed beyond refusals: it has records to answer from."""

FUZZED = [operation for operation in OPERATIONS if operation.path not in TALKS]
STREAMS = [each for each in OPERATIONS if each.path in TALKS and each.path.endswith("/events")]
"""Of these the beginning is read."""

QUICK = ("GET /{account}/{name}/refs/{ref}", "POST /platform/login", "GET /system/errors/{code}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    with fuzzed(tmp_path_factory.mktemp("fuzzed")) as running:
        yield running


def is_no_failure_of_ours(context: CheckContext, response: Response, case: Case) -> bool | None:
    assert response.status_code not in WE_FAILED, f"the server failed with {response.status_code}"
    return None


def cases(operation: APIOperation[Any, Any, Any]) -> st.SearchStrategy[Case]:
    """As the document says it, and otherwise."""
    modes = [GenerationMode.POSITIVE]
    if operation.body or list(operation.iter_parameters()):
        modes.append(GenerationMode.NEGATIVE)
    return st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))


def bodies(operation: APIOperation[Any, Any, Any], response: Response) -> list[Any]:
    """What is asked of the body. Where the reference has a route, a refusal may have none, which OpenAPI cannot say."""
    if (response.status_code, response.content) == (HTTPStatus.NOT_FOUND, b"Not Found"):
        return []  # of the router: a newline or nothing in a path makes it another one
    is_bare = operation.path in OF_REFERENCE and response.status_code >= HTTPStatus.BAD_REQUEST
    return [] if is_bare and not response.content else CHECKS_OF_BODIES


def fuzz(server: Fuzzed, operation: APIOperation[Any, Any, Any], examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(case=cases(operation), caller=st.sampled_from(CALLERS))
    def holds(case: Case, caller: str) -> None:
        ask(server, case, caller)

    holds()


def ask(server: Fuzzed, case: Case, caller: str) -> int:
    """The status of the answer, which is held against the document."""
    response = case.call(base_url=server.url, headers=server.headers[caller], timeout=ANSWERS_S)
    case.validate_response(response, checks=[*CHECKS, *bodies(case.operation, response), is_no_failure_of_ours])
    return int(response.status_code)


@st.composite
def of_records(draw: st.DrawFn, operation: APIOperation[Any, Any, Any]) -> Case:
    """As the document says it, of a dataset that has records, with one parameter at most that need not be there."""
    case = draw(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    takes_rows = operation.path.endswith("/ingest")
    case.path_parameters |= {"name": "cities" if takes_rows else draw(st.sampled_from(RECORDED_NAMES))}
    needed = {each.name for each in operation.iter_parameters() if each.is_required}
    case.query = _with_one(draw, case.query or {}, needed)
    if isinstance(case.body, dict):
        case.body = _with_one(draw, case.body, {"query"})
    if takes_rows:
        case.media_type, case.body = "text/csv", draw(st.sampled_from(ROWS))
    return case


def _with_one(draw: st.DrawFn, values: dict[str, Any], needed: set[str]) -> dict[str, Any]:
    optional = draw(st.sampled_from(["", *values]))
    return {name: value for name, value in values.items() if name in needed | {optional}}


@pytest.mark.parametrize("label", QUICK)
def test_a_few_routes_answer_as_documented(server: Fuzzed, label: str) -> None:
    fuzz(server, next(each for each in FUZZED if each.label == label), 5)


@pytest.mark.slow
@pytest.mark.parametrize("operation", FUZZED, ids=lambda operation: operation.label)
def test_every_route_answers_as_documented(server: Fuzzed, operation: APIOperation[Any, Any, Any]) -> None:
    fuzz(server, operation, max(5, settings.default.max_examples // 3))


@pytest.mark.slow
@pytest.mark.parametrize("label", sorted(ANSWERED))
def test_what_has_records_answers_with_them(server: Fuzzed, label: str) -> None:
    operation, answered = next(each for each in FUZZED if each.label == label), Counter[int]()

    @settings(
        max_examples=max(20, settings.default.max_examples // 2), suppress_health_check=list(HealthCheck), deadline=None
    )
    @given(case=of_records(operation), caller=st.sampled_from(("alice", "root")))
    def holds(case: Case, caller: str) -> None:
        answered[ask(server, case, caller)] += 1

    holds()
    assert answered[HTTPStatus.OK], f"nothing but refusals: {answered}"


@pytest.mark.slow
@pytest.mark.parametrize("operation", STREAMS, ids=lambda operation: operation.label)
def test_every_stream_begins_as_documented(server: Fuzzed, operation: APIOperation[Any, Any, Any]) -> None:
    @settings(
        max_examples=max(5, settings.default.max_examples // 3), suppress_health_check=list(HealthCheck), deadline=None
    )
    @given(case=cases(operation), caller=st.sampled_from(CALLERS))
    def holds(case: Case, caller: str) -> None:
        asked = case.as_transport_kwargs(base_url=server.url, headers=server.headers[caller])
        with requests.request(**asked, stream=True, timeout=ANSWERS_S) as response:
            told = DOCUMENT["paths"][operation.path]["get"]["responses"].get(str(response.status_code))
            assert told is not None, f"{response.status_code} is not documented"
            media_type = response.headers.get("Content-Type", "").partition(";")[0]
            assert not media_type or media_type in told.get("content", {})
            assert response.status_code != HTTPStatus.OK or next(response.iter_content(1))

    holds()


def test_what_is_left_out_is_in_the_document_and_little() -> None:
    assert {operation.path for operation in OPERATIONS} > TALKS
    assert "/{account}/{name}/push" in TALKS
    assert len(FUZZED) > 10 * len(TALKS)
