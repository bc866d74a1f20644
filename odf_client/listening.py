"""Listening to what happens to datasets at a server (server-sent events), going on where it was after a cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import orjson

from odf_client.address import Address
from opendatafabric.errors import MalformedInput, OdfError, UnsupportedOperation
from storage.backoff import TRIES, wait_after
from storage.http.answer import HttpFolder

_KNOWN: Final = "Last-Event-ID"
_AGAIN_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: ``type`` is ``head-moved`` and so on, ``dataset`` how it was called then, ``data`` what is told
    besides. ``id`` is what to come back with.
    """

    id: str
    type: str
    time: str
    dataset: str | None
    data: dict[str, Any]


async def events_at(address: Address, since: str | None) -> AsyncGenerator[Event, None]:
    """Every event after ``since``, or from now on; the stream has no end.

    Raises:
        UnsupportedOperation: no server.
        OdfError: the server refuses, or cannot be had any more.
    """
    if not address.is_web:
        raise UnsupportedOperation(f"{address.shown} is no server that could be listened to", expected="http(s)://…")
    stream, failures = _Stream(address, since), 0
    while True:
        try:
            async for event in stream.events():
                failures = 0
                yield event
            await asyncio.sleep(_AGAIN_S)  # a stream ends after a while: it is gone on with
        except OdfError as error:
            failures += 1
            if not error.retryable or failures == TRIES:
                raise
            await wait_after(error, failures)


class _Stream:
    """One connection after another; ``known`` is the last event that came."""

    def __init__(self, address: Address, known: str | None) -> None:
        self._address, self.known = address, known

    async def events(self) -> AsyncGenerator[Event, None]:
        """Until the connection ends."""
        headers = {} if self.known is None else {_KNOWN: self.known}
        async with aiohttp.ClientSession() as session, self._opened(session, headers) as response:
            async for fields in _blocks(response.content):
                self.known = fields.get(b"id", b"").decode() or self.known
                if b"data" in fields:
                    yield _event(fields[b"data"])

    def _opened(
        self, session: aiohttp.ClientSession, headers: dict[str, str]
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return HttpFolder(session, self._address.url, self._address.headers).request("GET", "events", headers)


async def _blocks(lines: aiohttp.StreamReader) -> AsyncGenerator[dict[bytes, bytes], None]:
    """The fields of each event; what only keeps the connection alive has none."""
    fields: dict[bytes, bytes] = {}
    while line := await _line(lines):
        name, _, value = line.strip(b"\r\n").partition(b":")
        if name:
            fields[name] = value.removeprefix(b" ")
        elif line in {b"\n", b"\r\n"} and fields:
            yield fields
            fields = {}


async def _line(lines: aiohttp.StreamReader) -> bytes:
    try:
        return await lines.readline()
    except ValueError:
        raise MalformedInput("the server tells an event that has no end") from None


def _event(data: bytes) -> Event:
    try:
        told = orjson.loads(data)
        return Event(told["id"], told["type"].rpartition(".")[2], told["time"], told.get("subject"), told["data"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MalformedInput(f"the server tells an event that cannot be read: {type(error).__name__}") from None
