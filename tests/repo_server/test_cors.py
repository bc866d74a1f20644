"""What pages of other origins may do: ask the API as anybody may, and nothing with the cookies of others."""

from __future__ import annotations

import pytest

from repo_server.routes import DATASET_ROUTES, NODE_ROUTES
from tests.repo_server.hosted import Answer, Hosted, a_chain

ORIGIN = {"Origin": "https://elsewhere.example"}


async def preflight(server: Hosted, path: str, method: str) -> Answer:
    return await server.ask("OPTIONS", path, headers={**ORIGIN, "Access-Control-Request-Method": method})


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        ("/alice/open/refs/head", "GET", "GET,HEAD"),
        ("/alice/open/gate", "PUT", "DELETE,GET,HEAD,POST,PUT"),
        ("/platform/token/device/authorization", "POST", "POST"),
    ],
)
async def test_a_preflight_is_told_what_the_path_allows(
    shared_multi: Hosted, path: str, method: str, allowed: str
) -> None:
    answer = await preflight(shared_multi, path, method)
    assert (answer.status, answer.headers["Access-Control-Allow-Methods"]) == (200, allowed)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize(("path", "method"), [("/alice/open/refs/head", "DELETE"), ("/v/login", "POST")])
async def test_a_preflight_for_what_is_not_allowed_is_refused(shared_multi: Hosted, path: str, method: str) -> None:
    answer = await preflight(shared_multi, path, method)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


async def test_a_preflight_for_a_path_that_is_none_is_404(shared_multi: Hosted) -> None:
    assert (await preflight(shared_multi, "/no/such/path/here", "GET")).status == 404


async def test_pages_and_forms_are_not_opened_to_other_origins(shared_multi: Hosted) -> None:
    await shared_multi.add("open", a_chain())
    login = await shared_multi.ask("GET", "/v/login", headers=ORIGIN)
    forged = await shared_multi.ask("POST", "/v/logout", headers=ORIGIN)
    listed = await shared_multi.ask("GET", "/alice/open/reports", headers={**ORIGIN, "Accept": "text/html"})
    assert [answer.status for answer in (login, forged, listed)] == [200, 403, 200]
    for answer in (login, forged, listed):
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.slow
async def test_no_answer_lets_cookies_travel(multi: Hosted) -> None:
    await multi.add("open", a_chain())
    for route in (*NODE_ROUTES, *DATASET_ROUTES):
        if route.method != "GET" or route.path.endswith(("/pull", "/push", "/events")):
            continue
        prefix = "/alice/open" if route in DATASET_ROUTES else ""
        answer = await multi.ask("GET", prefix + route.path.replace("{", "").replace("}", ""), headers=ORIGIN)
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert answer.headers.get("Access-Control-Allow-Origin", "*") == "*"


async def test_a_refusal_can_be_read_from_elsewhere_too(shared_multi: Hosted) -> None:
    answer = await shared_multi.ask("GET", "/alice/nothing/reports", headers=ORIGIN)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (404, "*")
    assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]
