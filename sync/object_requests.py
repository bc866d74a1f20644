"""One request for an object at an address that a peer handed out: what is sent, and what the answer means.

Addresses and headers are the peer's words and may be anything; a status is never taken for proof.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import Final, Literal

import aiohttp

from opendatafabric.errors import ObjectNotFound, OdfError, PeerUnavailable, TransferRejected
from opendatafabric.limits import HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX
from storage.backoff import Busy, asked_wait_s
from sync.smart.messages import TransferUrl

_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX, sock_read=HTTP_SILENCE_S_MAX)
_EXPIRED: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.GONE}
_LATER: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_NOT_THEIRS: Final = frozenset(
    {"content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer"}
)
"""How bytes travel on a connection is for its ends to say."""

_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-", re.ASCII)


class Expired(TransferRejected):
    """The address of an object is good no longer."""

    code = "address-expired"


@asynccontextmanager
async def object_request(
    session: aiohttp.ClientSession,
    method: Literal["GET", "PUT"],
    url: TransferUrl,
    headers: Mapping[str, str],
    body: AsyncIterator[bytes] | None = None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer, if it is a 2xx; its body may still break off. ``headers`` prevail over those of ``url``.

    Raises:
        Expired: 401, 403 or 410: the address has to be renewed.
        ObjectNotFound: 404.
        Busy: any 5xx, 408, 425, 429; PeerUnavailable: no answer, or one that broke off.
        TransferRejected: anything else, also an address that cannot be asked.
    """
    sent = _headers(url, headers)
    with _failures_named(method):
        async with session.request(
            method, url.url, data=body, headers=sent, timeout=_TIMEOUT, allow_redirects=False
        ) as response:
            _check_status(response, method)
            yield response


def range_start(response: aiohttp.ClientResponse, asked: int) -> int:
    """Which byte of the object the body begins with, when it was asked for from byte ``asked`` on.

    Raises:
        TransferRejected: with a later one, so that bytes would be missing.
    """
    if response.status != HTTPStatus.PARTIAL_CONTENT:
        return 0
    found = _CONTENT_RANGE.match(response.headers.get("Content-Range", ""))
    start = asked if found is None else int(found[1])
    if start > asked:
        raise TransferRejected("another part of an object comes than was asked for", expected=asked, found=start)
    return start


def strong_etag(response: aiohttp.ClientResponse) -> str | None:
    """An ETag that ``If-Range`` may name."""
    etag = response.headers.get("ETag")
    return etag if etag is not None and etag.startswith('"') else None


def _headers(url: TransferUrl, own: Mapping[str, str]) -> dict[str, str]:
    ours = _NOT_THEIRS | {name.lower() for name in own}
    return {row.name: row.value for row in url.headers if row.name.lower() not in ours} | dict(own)


@contextmanager
def _failures_named(method: str) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            raise _unusable(method, error) from error
        if isinstance(error.__cause__, OdfError):  # our own side failed while it was sending
            raise error.__cause__ from None
        raise PeerUnavailable(f"the {method} of an object broke off: {error or type(error).__name__}") from error
    except ValueError as error:
        raise _unusable(method, error) from error


def _unusable(method: str, error: Exception) -> OdfError:
    return TransferRejected(
        f"the {method} of an object is impossible: its address is unusable", found=repr(error)[:200]
    )


def _check_status(response: aiohttp.ClientResponse, method: str) -> None:
    status = response.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    message = f"the {method} of an object was answered with status {status}"
    if status in _EXPIRED:
        raise Expired(message)
    if status == HTTPStatus.NOT_FOUND:
        raise ObjectNotFound(message)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
        raise Busy(message, asked_wait_s(response.headers.get("Retry-After"), time.time()))
    raise TransferRejected(message)
