"""Asking something of the API of a server besides data: JSON or a form there, JSON back, its errors as ours."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    NotFound,
    OdfError,
    PeerUnavailable,
    StorageError,
    error_from,
)
from opendatafabric.limits import HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX, READ_CHUNK_BYTES
from storage.reading import joined

TIMEOUT: Final = aiohttp.ClientTimeout(total=HTTP_CONNECT_S_MAX + HTTP_SILENCE_S_MAX, sock_connect=HTTP_CONNECT_S_MAX)
_ANSWER_BYTES_MAX: Final = 1024 * 1024
_FAMILIES: Final[dict[int, type[OdfError]]] = {401: AuthenticationRequired, 403: AccessDenied, 404: NotFound}


async def asked(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Mapping[str, Any] | None = None,
    form: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What the server answers; an empty object for an empty answer.

    Raises:
        PeerUnavailable: no answer, or that of a server that fails.
        OdfError: what the server refused it with, in the family of its code.
        AuthenticationRequired, AccessDenied, NotFound, StorageError: a refusal that says no code.
    """
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        status, told = await answer_of(session, method, url, headers=headers, json=json, form=form)
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return told
    if "code" in told:
        raise error_from(told)
    family = _FAMILIES.get(status, StorageError)
    raise family(f"{_named(url)} answers {status}", found=told.get("message"))


async def answer_of(
    session: aiohttp.ClientSession,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Mapping[str, Any] | None = None,
    form: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer, an empty object if it is no such JSON. A token is not carried on elsewhere.

    Raises:
        PeerUnavailable: no answer, or that of a server that fails.
        LimitExceeded: an answer without an end.
    """
    try:
        async with session.request(
            method, url, headers=headers, json=json, data=form, allow_redirects=False
        ) as response:
            chunks = response.content.iter_chunked(READ_CHUNK_BYTES)
            raw = await joined(_named(url), chunks, size_max=_ANSWER_BYTES_MAX)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise PeerUnavailable(f"{_named(url)} does not answer: {error or 'too slow'}") from None
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PeerUnavailable(f"{_named(url)} answers {response.status}", hint="try again later")
    try:
        told = orjson.loads(raw)
    except ValueError:
        told = None
    return response.status, told if isinstance(told, dict) else {}


def _named(url: str) -> str:
    return str(URL(url).with_query(None).with_user(None))
