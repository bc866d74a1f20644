"""Having a server do something to a dataset of its own, in one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

from opendatafabric.errors import MalformedInput, OdfError, PeerUnavailable, error_from
from opendatafabric.limits import BODY_BUFFER_BYTES, HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX, READ_CHUNK_BYTES
from storage.reading import joined
from sync.credentials import headers_for

_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX, sock_read=HTTP_SILENCE_S_MAX)


async def done_by_server(
    method: str, url: str, body: Mapping[str, Any] | None = None, *, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the server says when it has done it; nothing where it says nothing.

    Raises:
        OdfError: in the family that the server names, or the nearest here.
        PeerUnavailable: it did not answer.
    """
    sent = {**headers_for(url), **(headers or {})}
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, json=body, headers=sent, timeout=_TIMEOUT, allow_redirects=False) as response,
        ):
            pieces = response.content.iter_chunked(READ_CHUNK_BYTES)
            raw = await joined("the answer", pieces, size_max=BODY_BUFFER_BYTES)
    except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
        raise PeerUnavailable(f"{url}: {error or type(error).__name__}") from error
    told = _told(raw)
    if response.ok:
        return told
    raise _refusal(response.status, told)


def _refusal(status: int, told: dict[str, Any]) -> OdfError:
    if "code" in told and "message" in told:
        return error_from(told)
    return OdfError(f"the server refused: {told.get('message') or status}", found=f"status {status}")


def _told(raw: bytes) -> dict[str, Any]:
    if not raw:
        return {}
    try:
        told = orjson.loads(raw)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict):
        raise MalformedInput("the server answers otherwise than with JSON", hint="is that the address of a repository?")
    return told
