"""Asking a server below one address, with its failures as store errors. What is asked for is not known here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import aiohttp
from yarl import URL

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    MalformedIdentifier,
    ObjectNotFound,
    OdfError,
    StorageError,
    TransientStorageError,
)
from opendatafabric.limits import HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX, READ_CHUNK_BYTES
from storage.reading import joined

_LATER: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_TIMEOUT: Final = aiohttp.ClientTimeout(
    total=None, connect=None, sock_connect=HTTP_CONNECT_S_MAX, sock_read=HTTP_SILENCE_S_MAX
)


@dataclass(frozen=True, slots=True)
class Manners:
    """How a kind of server is to be taken: whether it may lead elsewhere, which statuses mean that a thing is not."""

    redirects: bool = True
    absent: frozenset[HTTPStatus] = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


REPOSITORY: Final = Manners()


class HttpFolder:
    """What lies below ``base_url``, which is taken as a folder whether or not it ends in a slash."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base_url: str,
        headers: Mapping[str, str] | None,
        manners: Manners = REPOSITORY,
    ) -> None:
        self._session = session
        self._manners = manners
        self._base = _folder_url(base_url)
        # A content coding would be undone without any limit, and saves nothing on hashed and compressed files.
        self._headers = {"Accept-Encoding": "identity", **(headers or {})}

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer for ``path``, whose parts the caller has checked; its body may still break off.

        Raises:
            ObjectNotFound: the server says so (404 and 410, unless its manners are others).
            TransientStorageError: no answer, a server error, or an answer that broke off.
            AuthenticationRequired, AccessDenied: 401, 403.
            StorageError: any other status that is no success.
        """
        url = self._base.joinpath(*path.split("/")).with_query(query)
        try:
            async with self._session.request(
                method,
                url,
                headers={**self._headers, **(headers or {})},
                timeout=_TIMEOUT,
                allow_redirects=self._manners.redirects,
            ) as response:
                if not _is_taken(response.status):
                    raise self._status_error(response.status, path)
                yield response
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise TransientStorageError(
                f"{path} of {self._base.with_user(None).human_repr()}: {error or type(error).__name__}"
            ) from error

    async def read(self, path: str, *, size_max: int) -> bytes:
        """All of ``path``; errors as in ``request``, and ``LimitExceeded`` beyond ``size_max`` bytes."""
        async with self.request("GET", path) as response:
            return await joined(path, response.content.iter_chunked(READ_CHUNK_BYTES), size_max=size_max)

    def _status_error(self, status: int, path: str) -> OdfError:
        what = f"{path} of {self._base.with_user(None).human_repr()}"
        if status in self._manners.absent:
            return ObjectNotFound(f"{what} is not there", found=f"status {status}")
        if status == HTTPStatus.UNAUTHORIZED:
            return AuthenticationRequired(f"{what} needs a token", hint="odf login URL --access-token T")
        if status == HTTPStatus.FORBIDDEN:
            return AccessDenied(f"{what} may not be read with this token")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
            return TransientStorageError(f"{what} cannot be had now", found=f"status {status}")
        if status < HTTPStatus.BAD_REQUEST:
            return StorageError(f"{what} is said to be elsewhere, which is not followed", found=f"status {status}")
        return StorageError(f"{what} was refused", found=f"status {status}")


def _is_taken(status: int) -> bool:
    return status < HTTPStatus.MULTIPLE_CHOICES or status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE


def _folder_url(text: str) -> URL:
    try:
        url = URL(text)
    except ValueError:
        raise MalformedIdentifier(f"{text!r} is no URL") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise MalformedIdentifier(f"{text!r} is no address of a web server", expected="http://host/… or https://host/…")
    return url.with_query(None).with_fragment(None)
