"""Immutable bytes over HTTP: conditional answers, ranges, and the cheapest way from the disk to the wire (RFC 9110).

Small objects are read at once and sent with their headers; larger ones the kernel sends. Names are hashes, so the name
is the strong ETag and the answer may be kept for ever.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Final

from aiohttp import web

from opendatafabric.errors import ObjectNotFound
from opendatafabric.limits import INLINE_READ_BYTES_MAX
from repo_server.config import Settings
from repo_server.services import SERVICES
from storage.local import durable

_RANGE: Final = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))", re.ASCII | re.IGNORECASE)
SENT_AT_ONCE_BYTES: Final = 16 * 1024 * 1024
"""How much the kernel is asked to send before the pace of the reader is looked at."""

IMMUTABLE: Final = "public, max-age=31536000, immutable"
_PRIVATE: Final = "private, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Window:
    """Bytes to send: ``start`` and how many; ``partial`` when not all of ``size``."""

    start: int
    count: int
    size: int
    partial: bool = False

    @property
    def content_range(self) -> str:
        return f"bytes {self.start}-{self.start + self.count - 1}/{self.size}"


async def send_object(
    request: web.Request, path: Path, name: str, *, is_public: bool, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """The file ``path`` as the object ``name``; ``headers`` replace the usual ones or come beside them.

    Raises:
        ObjectNotFound: there is no such file.
    """
    sent = {**headers_of(name, is_public=is_public), **(headers or {})}
    descriptor, size = _opened(path, name)
    try:
        if is_known(request, name):
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=sent)
        return await _send(request, descriptor, size, name, sent)
    finally:
        os.close(descriptor)


def headers_of(name: str, *, is_public: bool) -> dict[str, str]:
    """What is said of every object beside its bytes."""
    return {
        "ETag": f'"{name}"',
        "Accept-Ranges": "bytes",
        "Cache-Control": IMMUTABLE if is_public else _PRIVATE,
        "Content-Type": "application/octet-stream",
    }


async def _send(
    request: web.Request, descriptor: int, size: int, name: str, headers: dict[str, str]
) -> web.StreamResponse:
    window = window_of(request.headers, name, size)
    if window is None:
        headers["Content-Range"] = f"bytes */{size}"
        return web.Response(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    status = HTTPStatus.OK
    if window.partial:
        headers["Content-Range"] = window.content_range
        status = HTTPStatus.PARTIAL_CONTENT
    if window.count <= INLINE_READ_BYTES_MAX and request.method != "HEAD":
        body = os.pread(descriptor, window.count, window.start)
        return web.Response(body=body, status=status, headers=headers)
    with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
        return await _send_large(request, file, window, web.StreamResponse(status=status, headers=headers))


async def _send_large(
    request: web.Request, file: BinaryIO, window: Window, response: web.StreamResponse
) -> web.StreamResponse:
    response.content_length = window.count
    writer = await response.prepare(request)
    if request.method == "HEAD":
        await response.write_eof()
        return response
    transport = request.transport
    if transport is None or writer is None:
        raise ConnectionResetError("the client is gone")
    writer.send_headers()
    await _let_the_kernel_send(transport, file, window, request.app[SERVICES].settings)
    await response.write_eof()
    return response


async def _let_the_kernel_send(
    transport: asyncio.Transport, file: BinaryIO, window: Window, settings: Settings
) -> None:
    """Piece by piece, so that a reader who takes less than the slowest rate can be told from one who takes its time."""
    loop = asyncio.get_running_loop()
    end = window.start + window.count
    for start in range(window.start, end, SENT_AT_ONCE_BYTES):
        count = min(SENT_AT_ONCE_BYTES, end - start)
        try:
            async with asyncio.timeout(settings.stall_s + count / settings.body_bytes_per_s_min):
                await loop.sendfile(transport, file, start, count)
        except TimeoutError:
            transport.abort()
            raise ConnectionResetError("the client reads too slowly") from None


def window_of(headers: Mapping[str, str], name: str, size: int) -> Window | None:
    """What ``Range`` and ``If-Range`` ask for: all, a part, or ``None`` when it lies outside.

    Several ranges, other units and malformed ones are passed over, as the RFC allows.
    """
    whole = Window(0, size, size)
    found = _RANGE.fullmatch(headers.get("Range", "").strip())
    condition = headers.get("If-Range")
    if found is None or (condition is not None and condition.strip() != f'"{name}"'):
        return whole
    if found[3] is not None:
        count = min(int(found[3]), size)
        return Window(size - count, count, size, partial=True) if count else None
    start = int(found[1])
    end = size if found[2] is None else min(int(found[2]) + 1, size)
    if found[2] is not None and int(found[2]) < start:
        return whole
    return Window(start, end - start, size, partial=True) if start < size else None


def is_known(request: web.Request, name: str) -> bool:
    """Whether the caller says that it has ``name`` already (``If-None-Match``)."""
    header = request.headers.get("If-None-Match")
    if header is None:
        return False
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in header.split(",")}
    return name in tags or "*" in tags


def _opened(path: Path, name: str) -> tuple[int, int]:
    """A descriptor to read from, and the size."""
    try:
        descriptor = os.open(path, durable.READ_FLAGS)
    except OSError as error:
        if durable.is_absent(error):
            raise ObjectNotFound(f"object {name} is not here") from None
        raise durable.storage_error(error, f"read {name}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ObjectNotFound(f"object {name} is not here")
    return descriptor, status.st_size
