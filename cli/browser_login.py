"""Logging in at a server with a browser: the person says yes there, and the server then gives us a token (RFC 8628)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from opendatafabric.errors import AccessDenied, AuthenticationRequired, PeerUnavailable, ProtocolViolation
from opendatafabric.limits import HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX, READ_CHUNK_BYTES
from opendatafabric.login_limits import DEVICE_LOGIN_S, DEVICE_POLL_S
from storage.reading import joined

CLIENT_ID: Final = "odf"
_BEGIN: Final = "platform/token/device/authorization"
_TOKEN: Final = "platform/token/device"
_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"
_ANSWER_BYTES_MAX: Final = 64 * 1024
_TIMEOUT: Final = aiohttp.ClientTimeout(total=HTTP_CONNECT_S_MAX + HTTP_SILENCE_S_MAX, sock_connect=HTTP_CONNECT_S_MAX)
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
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
        _, begun = await post_form(session, f"{origin}/{_BEGIN}", {"client_id": CLIENT_ID})
        page, code = _page_of(begun), begun.get("device_code")
        if page is None or not isinstance(code, str):
            raise _violation(origin)
        show(page)
        interval_s, ends_at = DEVICE_POLL_S, clock.now() + DEVICE_LOGIN_S
        fields = {"client_id": CLIENT_ID, "device_code": code, "grant_type": _GRANT_TYPE}
        while clock.now() < ends_at:
            status, told = await post_form(session, f"{origin}/{_TOKEN}", fields)
            if status == HTTPStatus.OK and isinstance(told.get("access_token"), str):
                return str(told["access_token"])
            _check_waiting(origin, told.get("message") if status == HTTPStatus.BAD_REQUEST else None)
            interval_s += DEVICE_POLL_S if told["message"] == "slow_down" else 0
            await clock.sleep(interval_s)
    raise _expired()


async def post_form(session: aiohttp.ClientSession, url: str, fields: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Status and JSON of the answer to a form; an empty object if it is no such JSON.

    Raises:
        PeerUnavailable: no answer, or that of a server that fails.
        LimitExceeded: an answer without an end.
    """
    try:
        async with session.post(url, data=fields, allow_redirects=False) as response:
            raw = await joined(url, response.content.iter_chunked(READ_CHUNK_BYTES), size_max=_ANSWER_BYTES_MAX)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise PeerUnavailable(f"{URL(url).origin()} does not answer: {error or 'too slow'}") from None
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PeerUnavailable(f"{URL(url).origin()} answers {response.status}", hint="try again later")
    try:
        told = orjson.loads(raw)
    except ValueError:
        told = None
    return response.status, told if isinstance(told, dict) else {}


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
