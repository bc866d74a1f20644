"""Asking a server's JSON API as somebody who is logged in there; its refusals become our errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
import orjson

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    Conflict,
    MalformedInput,
    NotFound,
    OdfError,
    PeerUnavailable,
    UnsupportedOperation,
)
from opendatafabric.limits import BODY_BUFFER_BYTES, READ_CHUNK_BYTES
from storage.reading import joined
from sync.credentials import headers_for

_FAMILIES: Final[dict[int, type[OdfError]]] = {
    400: MalformedInput,
    401: AuthenticationRequired,
    403: AccessDenied,
    404: NotFound,
    409: Conflict,
    413: MalformedInput,
    422: MalformedInput,
    501: UnsupportedOperation,
}
_SAID_CHARS_MAX: Final = 500
_LOG_IN: Final = "odf login URL keeps a token for the server"


class ServerApi:
    """The API of one server; the token that is kept for it goes along, and follows no redirect."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._address = session, address
        self._headers = headers_for(address)

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        """What the server answers, as JSON values; ``None`` for an empty answer.

        Raises:
            AuthenticationRequired, AccessDenied, NotFound, Conflict, MalformedInput, UnsupportedOperation: as it says.
            PeerUnavailable: it does not answer, or otherwise than in JSON.
        """
        status, raw = await self._sent(method, path, body)
        if status >= 300:
            raise _refusal(status, raw)
        try:
            return orjson.loads(raw) if raw else None
        except ValueError:
            raise PeerUnavailable(f"{self._address} answers otherwise than in JSON") from None

    async def _sent(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        url = self._address.removeprefix("odf+").rstrip("/") + path
        try:
            async with self._session.request(
                method, url, json=body, headers=self._headers, allow_redirects=False
            ) as response:
                chunks = response.content.iter_chunked(READ_CHUNK_BYTES)
                return response.status, await joined(path, chunks, size_max=BODY_BUFFER_BYTES)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise PeerUnavailable(f"{self._address} does not answer: {error}") from error


@asynccontextmanager
async def server_api(address: str) -> AsyncIterator[ServerApi]:
    """The API of the server at ``address``."""
    async with aiohttp.ClientSession() as session:
        yield ServerApi(session, address)


def _refusal(status: int, raw: bytes) -> OdfError:
    try:
        told = orjson.loads(raw)
    except ValueError:
        told = None
    said = {name: _text(told.get(name)) for name in ("message", "expected", "hint")} if isinstance(told, dict) else {}
    family = _FAMILIES.get(status, PeerUnavailable)
    hint = _LOG_IN if family is AuthenticationRequired else said.get("hint")
    return family(said.get("message") or f"the server answers {status}", expected=said.get("expected"), hint=hint)


def _text(value: object) -> str | None:
    return value[:_SAID_CHARS_MAX] if isinstance(value, str) else None
