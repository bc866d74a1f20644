"""``odf login`` gets its token from a server whose page a person was sent to."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from cli.browser_login import Clock, open_page, token_by_browser
from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    LimitExceeded,
    OdfError,
    PeerUnavailable,
    ProtocolViolation,
)
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, hosted

Handler = Callable[[web.Request], Awaitable[web.Response]]


@dataclass
class FastClock:
    """Waits no longer than a turn of the loop; ``waited`` says how long it should have been."""

    waited: float = 0.0

    def now(self) -> float:
        return self.waited

    async def sleep(self, seconds: float) -> None:
        self.waited += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.sleep)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI) as running:
        yield running


async def test_the_token_is_of_the_account_that_allowed_it(server: Hosted) -> None:
    deciding: list[asyncio.Task[None]] = []

    def show(page: str) -> None:
        assert page.startswith(f"{server.url}/v/login?deviceCode=")
        approved = server.catalog.device_logins.approve(URL(page).query["deviceCode"], server.accounts["bob"])
        deciding.append(asyncio.create_task(approved))

    token = await token_by_browser(server.url, show, FastClock().clock)
    assert b'"bob"' in (await server.ask("GET", "/accounts/me", who=token)).body


async def test_who_is_denied_is_told_so(server: Hosted) -> None:
    deciding: list[asyncio.Task[None]] = []

    def show(page: str) -> None:
        denied = server.catalog.device_logins.deny(URL(page).query["deviceCode"])
        deciding.append(asyncio.create_task(denied))

    with pytest.raises(AccessDenied):
        await token_by_browser(server.url, show, FastClock().clock)


async def test_nobody_is_waited_for_longer_than_a_code_is_good(server: Hosted) -> None:
    clock = FastClock()
    with pytest.raises(AuthenticationRequired, match="in time"):
        await token_by_browser(server.url, lambda _: None, clock.clock)
    assert 300 <= clock.waited < 600


@asynccontextmanager
async def answering(begun: Any, *polled: tuple[int, Any]) -> AsyncIterator[str]:
    """A server that begins logins with ``begun`` and then answers each question in turn."""
    answers = list(polled)

    async def begin(_: web.Request) -> web.Response:
        return web.json_response(begun)

    async def poll(_: web.Request) -> web.Response:
        status, told = answers.pop(0)
        return web.json_response(told, status=status)

    application = web.Application()
    application.router.add_post("/platform/token/device/authorization", begin)
    application.router.add_post("/platform/token/device", poll)
    async with TestServer(application) as running:
        yield str(running.make_url("")).rstrip("/")


BEGUN = {"device_code": "code", "verification_uri": "https://data.example.org/v/login"}


async def test_a_server_that_wants_less_haste_is_asked_less_often() -> None:
    clock, slower = FastClock(), (400, {"message": "slow_down"})
    async with answering(BEGUN, slower, slower, (200, {"access_token": "ka_x"})) as origin:
        assert await token_by_browser(origin, lambda _: None, clock.clock) == "ka_x"
    assert clock.waited == 10 + 15


@pytest.mark.parametrize(
    ("begun", "polled", "family"),
    [
        ([], (200, {}), ProtocolViolation),
        ({}, (200, {}), ProtocolViolation),
        ({**BEGUN, "verification_uri": "file:///etc/passwd"}, (200, {}), ProtocolViolation),
        ({**BEGUN, "verification_uri": "javascript:alert(1)"}, (200, {}), ProtocolViolation),
        ({**BEGUN, "device_code": 7}, (200, {}), ProtocolViolation),
        (BEGUN, (200, {}), ProtocolViolation),
        (BEGUN, (200, {"access_token": "x" * 2_000_000}), LimitExceeded),
        (BEGUN, (400, {"error": "authorization_pending"}), ProtocolViolation),
        (BEGUN, (302, {"message": "authorization_pending"}), ProtocolViolation),
        (BEGUN, (400, {"message": "expired_token"}), AuthenticationRequired),
        (BEGUN, (500, {}), PeerUnavailable),
    ],
)
async def test_a_server_that_answers_otherwise_is_refused(
    begun: Any, polled: tuple[int, Any], family: type[OdfError]
) -> None:
    # A page that is no page is not shown; where one is, it is the only thing that is.
    shown: list[str] = []
    async with answering(begun, polled, (500, {})) as origin:
        with pytest.raises(family):
            await token_by_browser(origin, shown.append, FastClock().clock)
    assert all(page.startswith("https://data.example.org/") for page in shown)


async def test_a_server_that_is_not_there_is_said_not_to_answer() -> None:
    with pytest.raises(PeerUnavailable):
        await token_by_browser("http://127.0.0.1:1", lambda _: None)


@pytest.mark.parametrize(("kind", "opens"), [(webbrowser.BackgroundBrowser, True), (webbrowser.GenericBrowser, False)])
def test_only_a_browser_with_a_window_is_opened(
    monkeypatch: pytest.MonkeyPatch, kind: type[webbrowser.GenericBrowser], opens: bool
) -> None:
    shown: list[str] = []
    browser = kind("browser")
    monkeypatch.setattr(browser, "open", shown.append)
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    open_page("https://data.example.org/")
    assert shown == ["https://data.example.org/"] * opens


def test_where_there_is_no_browser_none_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    open_page("https://data.example.org/")
