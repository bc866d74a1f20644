"""Logging in at a server with a browser: the person says yes there, and the server then gives us a token (RFC 8628)."""

from __future__ import annotations

import asyncio
import time
import webbrowser
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from yarl import URL

from opendatafabric.errors import AccessDenied, AuthenticationRequired, ProtocolViolation
from opendatafabric.login_limits import DEVICE_LOGIN_S, DEVICE_POLL_S
from sync.server_calls import TIMEOUT, answer_of

CLIENT_ID: Final = "odf"
_BEGIN: Final = "platform/token/device/authorization"
_TOKEN: Final = "platform/token/device"
_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"
_WAITS: Final = frozenset({"authorization_pending", "slow_down"})


@dataclass(frozen=True, slots=True)
class Clock:
    """How time passes."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


async def token_by_browser(origin: str, show: Callable[[str], None], clock: Clock = Clock()) -> str:
    """A token of the account that lets us in; ``show`` is given the page on which that is done.

    Raises:
        AccessDenied: the person said no.
        AuthenticationRequired: nobody said anything in time.
        ProtocolViolation: the server has no such logins, or answers otherwise.
        PeerUnavailable: it does not answer.
    """
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        _, begun = await answer_of(session, "POST", f"{origin}/{_BEGIN}", form={"client_id": CLIENT_ID})
        page, code = _page_of(begun), begun.get("device_code")
        if page is None or not isinstance(code, str):
            raise _violation(origin)
        show(page)
        interval_s, ends_at = DEVICE_POLL_S, clock.now() + DEVICE_LOGIN_S
        fields = {"client_id": CLIENT_ID, "device_code": code, "grant_type": _GRANT_TYPE}
        while clock.now() < ends_at:
            status, told = await answer_of(session, "POST", f"{origin}/{_TOKEN}", form=fields)
            if status == HTTPStatus.OK and isinstance(told.get("access_token"), str):
                return str(told["access_token"])
            _check_waiting(origin, told.get("message") if status == HTTPStatus.BAD_REQUEST else None)
            interval_s += DEVICE_POLL_S if told["message"] == "slow_down" else 0
            await clock.sleep(interval_s)
    raise _expired()


def open_page(page: str) -> None:
    """Show ``page`` in a window, if there is a browser that has one: those of the terminal would take ours."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if isinstance(browser, webbrowser.BackgroundBrowser) or not isinstance(browser, webbrowser.GenericBrowser):
        browser.open(page)


def _page_of(begun: dict[str, Any]) -> str | None:
    # It is opened in a browser: a server must not have us open anything but a page.
    try:
        page = URL(str(begun.get("verification_uri")))
        is_page = page.scheme in {"http", "https"} and page.host is not None
        return str(page.with_query(deviceCode=str(begun.get("device_code")))) if is_page else None
    except ValueError:
        return None


def _check_waiting(origin: str, said: object) -> None:
    if said == "access_denied":
        raise AccessDenied("the login was denied", hint="allow it on the page that was shown")
    if said == "expired_token":
        raise _expired()
    if said not in _WAITS:
        raise _violation(origin)


def _expired() -> AuthenticationRequired:
    return AuthenticationRequired("nobody allowed the login in time", hint="odf login URL begins another one")


def _violation(origin: str) -> ProtocolViolation:
    return ProtocolViolation(
        f"{origin} takes no logins with a browser", hint="give it a token instead: odf login URL --access-token T"
    )
