"""Sending a file to a repository that ingests it: in pieces, going on after a cut, and entering once however often.

Data move here as bytes that nobody looks at; what they become is the server's business.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    DatasetNotFound,
    PeerUnavailable,
    TransferRejected,
    error_from,
)
from opendatafabric.limits import HTTP_CONNECT_S_MAX, JOB_S_MAX, UPLOAD_PIECE_BYTES
from storage.backoff import Busy, asked_wait_s, retried
from storage.progress import BYTES, Progress, silent
from sync.smart.connect import token_headers

_OFFSET: Final = "Upload-Offset"
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX, sock_read=JOB_S_MAX)
_LATER: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


@dataclass(frozen=True, slots=True)
class FileToSend:
    """A file and how it is to be read; what is not said is left to the source."""

    file: Path
    source_name: str | None = None
    media_type: str | None = None
    event_time: str | None = None


async def ingest_at_server(
    session: aiohttp.ClientSession,
    dataset_url: str,
    given: FileToSend,
    *,
    token: str | None,
    on_progress: Progress = silent,
) -> dict[str, Any]:
    """What the server answers when the file is in the dataset at ``dataset_url``.

    Raises:
        PeerUnavailable, Busy: the server did not answer, several times.
        AuthenticationRequired, AccessDenied, DatasetNotFound: as it says.
        OdfError: what it says is wrong with the file.
    """
    dataset = URL(dataset_url.rstrip("/"))
    sending = _Sending(session, dataset.origin(), given, token_headers(token))
    upload_token = await sending.send(on_progress)
    return await sending.ingest(dataset / "ingest", upload_token)


@dataclass(slots=True)
class _Sending:
    """``offset`` is how much the server has, if that is known."""

    session: aiohttp.ClientSession
    server: URL
    given: FileToSend
    authorization: Mapping[str, str]
    offset: int | None = 0

    async def send(self, on_progress: Progress) -> str:
        """The token of the file, which the server has now."""
        size = (await asyncio.to_thread(self.given.file.stat)).st_size
        query = {"fileName": "file", "contentLength": str(size)}
        if self.given.media_type is not None:
            query["contentType"] = self.given.media_type
        uploads = self.server.joinpath("platform", "file", "upload")
        prepare = (uploads / "prepare").with_query(query)
        told = orjson.loads((await retried(lambda: self._ask("POST", prepare))).body)
        token = str(told["uploadToken"])
        place = uploads / token
        while self.offset is None or self.offset < size:
            await retried(lambda: self._send_piece(place))
            on_progress(BYTES, self.offset or 0, size)
        return token

    async def ingest(self, place: URL, upload_token: str) -> dict[str, Any]:
        """The answer; asking again is harmless, for an upload enters once."""
        query = {"uploadToken": upload_token}
        if self.given.source_name is not None:
            query["sourceName"] = self.given.source_name
        headers = {} if self.given.event_time is None else {"odf-event-time": self.given.event_time}
        answer = await retried(lambda: self._ask("POST", place.with_query(query), headers))
        told: dict[str, Any] = orjson.loads(answer.body)
        return told

    async def _send_piece(self, place: URL) -> None:
        if self.offset is None:
            self.offset = int((await self._ask("HEAD", place)).headers[_OFFSET])
        piece, offset = await asyncio.to_thread(_read, self.given.file, self.offset), self.offset
        self.offset = None  # until it is answered nobody knows how much of it came
        await self._ask("PATCH", place, {_OFFSET: str(offset)}, piece)
        self.offset = offset + len(piece)

    async def _ask(
        self, method: str, url: URL, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> _Answer:
        sent = {**self.authorization, **(headers or {})}
        try:
            async with self.session.request(
                method, url, headers=sent, data=body, timeout=_TIMEOUT, allow_redirects=False
            ) as response:
                answer = _Answer(response.status, dict(response.headers), await response.read())
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            where = f"{url.path} of {url.origin()}"
            raise PeerUnavailable(f"{where} did not answer: {error or type(error).__name__}") from error
        _check(answer, url)
        return answer


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def _read(file: Path, offset: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read(UPLOAD_PIECE_BYTES)


def _check(answer: _Answer, url: URL) -> None:
    status, what = answer.status, f"{url.path} of {url.origin()}"
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return
    told = _told(answer.body)
    if status in _LATER:
        message = str(told.get("message", f"{what} is busy"))
        raise Busy(message, asked_wait_s(answer.headers.get("Retry-After"), time.time()))
    if told.get("code"):
        raise error_from(told)
    if status == HTTPStatus.UNAUTHORIZED:
        raise AuthenticationRequired(f"{what} needs a token", hint="odf login URL --access-token T")
    if status == HTTPStatus.FORBIDDEN:
        raise AccessDenied(f"{what} may not be written with this token")
    if status == HTTPStatus.NOT_FOUND:
        raise DatasetNotFound(f"{what} is not there", hint="is the name right, are you logged in?")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PeerUnavailable(f"{what} failed", found=f"status {status}")
    raise TransferRejected(str(told.get("message", f"{what} was refused")), found=f"status {status}")


def _told(body: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}
