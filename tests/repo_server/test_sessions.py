"""Browsers: who is logged in, and which forms are taken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from catalog.visibility import Visibility
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from repo_server.handlers.browser_login import onward_of
from repo_server.sessions import Session
from tests.repo_server.browsing import PASSWORD, Browser, FormReader, browsing
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.repo_server.test_conversations import SECOND_HEADER

COOKIE = "odf-session"


@pytest.fixture
async def browser(multi: Hosted) -> AsyncIterator[Browser]:
    await multi.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    async with browsing(multi.url) as opened:
        yield opened


def test_the_token_of_forms_tells_nothing_of_the_session() -> None:
    session = Session("an id")
    assert session.id not in repr(session)
    assert session.csrf_token == Session("an id").csrf_token != Session("another id").csrf_token


async def test_a_login_begins_a_new_session_that_scripts_and_other_sites_cannot_use(browser: Browser) -> None:
    await browser.get("/v/login")
    before = browser.cookies[COOKIE]
    answer = await browser.log_in()
    assert (answer.status, answer.headers["Location"]) == (303, f"{browser.url}/v/login")
    assert browser.cookies[COOKIE] != before
    for word in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="):
        assert word in answer.headers["Set-Cookie"]
    assert "logged in as <strong>alice" in (await browser.follow(answer)).text


async def test_an_id_that_somebody_planted_is_not_the_one_after_the_login(browser: Browser, multi: Hosted) -> None:
    browser.session.cookie_jar.update_cookies({COOKIE: "planted"})
    await browser.log_in()
    async with browsing(multi.url) as other:
        other.session.cookie_jar.update_cookies({COOKIE: "planted"})
        assert "Password" in (await other.get("/v/login")).text


async def test_behind_https_the_cookie_is_one_that_no_neighbour_can_plant(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, public_url="https://data.example.org") as server:
        given = (await server.ask("GET", "/v/login")).headers["Set-Cookie"]
        assert given.startswith("__Host-odf-session=")
        assert "Secure" in given
        assert "Domain" not in given


async def test_a_wrong_password_is_told_on_the_page(browser: Browser) -> None:
    for password in ("wrong password", "", "pässword"):
        answer = await browser.log_in(password=password)
        assert answer.status == 401
        assert "do not belong together" in answer.text
    assert (await browser.submit(answer, login="alice", password=PASSWORD)).status == 303


async def test_after_a_logout_the_session_is_nobodys(browser: Browser, multi: Hosted) -> None:
    page = await browser.follow(await browser.log_in())
    old = browser.cookies[COOKIE]
    assert (await browser.submit(page)).status == 303
    assert COOKIE not in browser.cookies
    assert await multi.catalog.browser_sessions.account_of(old) is None


async def test_a_form_from_another_place_is_refused(browser: Browser) -> None:
    form = FormReader.read((await browser.get("/v/login")).text)
    fields = {**form.hidden, "login": "alice", "password": PASSWORD}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", ""):
        answer = await browser.post("/v/login", fields, origin=origin)
        assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)


async def test_a_form_without_the_token_of_this_browser_is_refused(browser: Browser, multi: Hosted) -> None:
    async with browsing(multi.url) as other:
        foreign = FormReader.read((await other.get("/v/login")).text).hidden["csrf"]
    await browser.get("/v/login")
    for token in (foreign, "", "\udcff".encode(errors="replace").decode()):
        fields = {"csrf": token, "onward": "/", "login": "alice", "password": PASSWORD}
        assert (await browser.post("/v/login", fields)).status == 403


async def test_a_form_of_a_browser_without_cookies_is_refused(multi: Hosted) -> None:
    headers = {"Origin": multi.url, "Content-Type": "application/x-www-form-urlencoded"}
    assert (await multi.ask("POST", "/v/logout", headers=headers, data=b"csrf=x")).status == 403


async def test_who_is_logged_in_may_look_and_change_nothing_without_a_form(browser: Browser, multi: Hosted) -> None:
    await multi.add("secret", a_chain(), Visibility.PRIVATE)
    head = "/alice/secret/refs/head"
    assert (await browser.get(head)).status == 404
    await browser.log_in()
    assert (await browser.get(head)).status == 200
    assert (await browser.post("/alice/secret/verify", {})).status == 404
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await browser.session.ws_connect(multi.url + "/alice/secret/push", headers=SECOND_HEADER)
    assert refused.value.status == 401


async def test_pages_with_forms_are_kept_nowhere_and_framed_by_nobody(browser: Browser) -> None:
    headers = (await browser.get("/v/login?deviceCode=x")).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "form-action 'self'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/alice/open/reports", "/v/login?deviceCode=a%20b"])
def test_a_page_of_ours_is_gone_on_to(path: str) -> None:
    assert onward_of(path) == path


@pytest.mark.parametrize(
    "path", ["", "x", "//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nb", "/" + "a" * 2_000]
)
def test_any_other_place_is_not(path: str) -> None:
    assert onward_of(path) == "/v/login"
