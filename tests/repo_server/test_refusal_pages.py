"""People are refused by pages, programs by problems, and the protocol stays as it is."""

from __future__ import annotations

import pytest

from catalog.visibility import Visibility
from tests.repo_server.hosted import Hosted, a_chain

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_what_is_not_there_is_told_on_a_page_that_leads_on(multi: Hosted) -> None:
    answer = await multi.ask("GET", "/alice/nothing", headers=BROWSER)
    assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert 'href="/v/login?onward=/alice/nothing"' in answer.text


async def test_who_is_known_is_not_sent_to_log_in(multi: Hosted) -> None:
    answer = await multi.ask("GET", "/v/admin", who="alice", headers=BROWSER)
    assert answer.status == 403
    assert "onward" not in answer.text or "alice" not in answer.text


async def test_programs_get_problems(multi: Hosted) -> None:
    answer = await multi.ask("GET", "/alice/nothing")
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_headers_of_a_refusal_stay(multi: Hosted) -> None:
    as_page, as_problem = [
        await multi.ask("GET", "/v/admin", headers=headers) for headers in (BROWSER, {"Accept": "application/json"})
    ]
    assert as_page.status == as_problem.status == 401
    assert as_page.headers.get("WWW-Authenticate") == as_problem.headers.get("WWW-Authenticate")


@pytest.mark.parametrize("path", ["refs/head", "blocks/f1620" + "0" * 64])
async def test_the_protocol_is_the_same_for_browsers(multi: Hosted, path: str) -> None:
    await multi.add("secret", a_chain(), Visibility.PRIVATE)
    plain = await multi.ask("GET", f"/alice/secret/{path}")
    browser = await multi.ask("GET", f"/alice/secret/{path}", headers=BROWSER)
    assert (plain.status, plain.body) == (browser.status, browser.body) == (404, b"")


async def test_a_path_is_shown_as_text(multi: Hosted) -> None:
    answer = await multi.ask("GET", "/alice/%3Cscript%3Ealert(1)%3C%2Fscript%3E", headers=BROWSER)
    assert answer.status in {400, 404}
    assert "<script>alert" not in answer.text
