"""A pinning service, by the IPFS Pinning Service API: somebody who keeps trees, fetching them from whoever has them.

What it answers is believed in nothing but its own status. Neither redirects nor content codings are taken; the token
goes into a header, nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    MalformedIdentifier,
    NotFound,
    OdfError,
    ProtocolViolation,
    StorageError,
    TransientStorageError,
)
from opendatafabric.ipfs.cid import Cid
from opendatafabric.limits import HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX, RPC_ANSWER_BYTES_MAX

SCHEMES: Final = ("pin+http", "pin+https")
"""Addresses of pinning services."""

_LATER: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
_REASON_CHARS_MAX: Final = 300
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._~-]{0,254}", re.ASCII)


class PinStatus(StrEnum):
    """How far a service is."""

    QUEUED = "queued"
    PINNING = "pinning"
    PINNED = "pinned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Pin:
    """A request to keep a tree, as the service calls it, and how far it is."""

    request_id: str
    status: PinStatus
    cid: Cid


class PinningService:
    """The service at ``address`` (``pin+https://host/path``)."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        address: str,
        *,
        token: str | None = None,
        silence_s: float = HTTP_SILENCE_S_MAX,
    ) -> None:
        self._session = session
        self._base = _base_url(address)
        self._headers = {"Accept-Encoding": "identity", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX, sock_read=silence_s)

    async def add(self, cid: Cid, *, name: str, origins: Sequence[str] = ()) -> Pin:
        """Ask it to keep ``cid``, which peers at ``origins`` (multiaddresses) have; returns before it has.

        Raises:
            TransientStorageError: no answer, or a failure that may pass.
            AuthenticationRequired, AccessDenied, StorageError: as it says.
            ProtocolViolation: no answer of a pinning service.
        """
        return _pin_in(await self._ask("POST", (), _wish(cid, name, origins)))

    async def replace(self, pin: str, cid: Cid, *, name: str, origins: Sequence[str] = ()) -> Pin:
        """Ask it to keep ``cid`` and, once it does, what the request ``pin`` named no longer; errors as ``add``.

        Raises:
            NotFound: it knows no such request.
        """
        return _pin_in(await self._ask("POST", (pin,), _wish(cid, name, origins)))

    async def find(self, pin: str) -> Pin:
        """How far the request ``pin`` is; errors as ``replace``."""
        return _pin_in(await self._ask("GET", (pin,)))

    async def _ask(self, method: str, path: tuple[str, ...], wish: Mapping[str, Any] | None = None) -> Any:
        data = None if wish is None else orjson.dumps(wish)
        headers = self._headers | ({} if wish is None else {"Content-Type": "application/json"})
        async with self._requested(method, self._base.joinpath("pins", *path), data, headers) as response:
            body = await _read(response)
            if response.status not in {HTTPStatus.OK, HTTPStatus.ACCEPTED}:
                raise _refusal(response.status, _reason(body))
        return _parsed(body)

    @asynccontextmanager
    async def _requested(
        self, method: str, url: URL, data: bytes | None, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, timeout=self._timeout, allow_redirects=False
            ) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise TransientStorageError(
                f"the pinning service at {self._base.origin()} did not answer: {error or type(error).__name__}"
            ) from error


def _wish(cid: Cid, name: str, origins: Sequence[str]) -> dict[str, Any]:
    return {"cid": str(cid), "name": name, "origins": list(origins)}


def _base_url(address: str) -> URL:
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in SCHEMES:
        raise MalformedIdentifier("no address of a pinning service", expected="pin+https://HOST/PATH")
    try:
        url = URL(f"{scheme.lower().removeprefix('pin+')}://{rest}")
    except ValueError:
        url = URL()
    if url.user is not None or url.password is not None:
        raise MalformedIdentifier("an address of a pinning service holds a secret", hint="odf login URL keeps a token")
    if not url.host:
        raise MalformedIdentifier("the address of a pinning service names no host", expected="pin+https://HOST/PATH")
    return url.with_query(None).with_fragment(None)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > RPC_ANSWER_BYTES_MAX:
            raise ProtocolViolation("the pinning service answered with too much", expected=f"{RPC_ANSWER_BYTES_MAX} B")
    return body


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ProtocolViolation("the pinning service answered with no JSON", found=repr(body[:100])) from None


def _pin_in(answer: Any) -> Pin:
    try:
        pin = Pin(answer["requestid"], PinStatus(answer["status"]), Cid.from_text(answer["pin"]["cid"]))
        if _REQUEST_ID.fullmatch(pin.request_id):
            return pin
    except (KeyError, TypeError, ValueError, AttributeError, OdfError):
        pass
    raise ProtocolViolation("the pinning service answered with no pin", found=repr(answer)[:200])


def _reason(body: bytes) -> str:
    """What the service says went wrong, in the form of its specification."""
    try:
        told = orjson.loads(body)["error"]
        text = f"{told['reason']} {told.get('details', '')}".strip()
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return "it gives no reason"
    return "".join(letter if letter.isprintable() else " " for letter in text[:_REASON_CHARS_MAX])


def _refusal(status: int, reason: str) -> OdfError:
    what, found = f"the pinning service refused: {reason}", f"status {status}"
    if status == HTTPStatus.UNAUTHORIZED:
        return AuthenticationRequired(what, hint="odf login URL keeps a token for it; add the mirror again then")
    if status == HTTPStatus.FORBIDDEN:
        return AccessDenied(what)
    if status == HTTPStatus.NOT_FOUND:
        return NotFound(what, found=found)
    if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TransientStorageError(what, found=found)
    return StorageError(what, found=found)
