"""Bytes on their way in, hashed and written at the same time without holding up the event loop.

Pieces are gathered to about a mebibyte, then hashed by one thread and written by another, each in order, a few pieces
in flight. Hashing is the slower of the two, so an upload runs at the speed of SHA3. All uploads share as many threads
as there are processors: more would only keep the event loop from its turn. Where the bytes end up is not known here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from opendatafabric.errors import LimitExceeded
from opendatafabric.limits import PIECES_IN_FLIGHT_MAX, READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash

_HASHING: Final = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hash")
_WRITING: Final = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="write")


async def hash_while(
    write: Callable[[bytes], object], pieces: AsyncIterator[bytes], *, size_max: int
) -> tuple[Multihash, int]:
    """Give every piece to ``write``, in order and in a thread of its own; the hash and the size of them all.

    Raises:
        LimitExceeded: more than ``size_max`` bytes.
        Exception: whatever ``pieces`` or ``write`` raise.
    """
    hasher = Hasher()
    hashing, writing = _Lane(hasher.update, _HASHING), _Lane(write, _WRITING)
    try:
        async for piece in gathered(pieces, size_max=size_max):
            await hashing.feed(piece)
            await writing.feed(piece)
        await hashing.drain()
        await writing.drain()
    finally:
        hashing.close()
        writing.close()
    return hasher.finish(), hasher.size


async def gathered(pieces: AsyncIterator[bytes], *, size_max: int) -> AsyncIterator[bytes]:
    """The same bytes in pieces of ``READ_CHUNK_BYTES`` or a little more; the last one may be shorter.

    Raises:
        LimitExceeded: as soon as more than ``size_max`` bytes have come.
    """
    waiting, waiting_bytes, size = [], 0, 0
    async for piece in pieces:
        size += len(piece)
        if size > size_max:
            raise LimitExceeded("more bytes than may be stored as one object", expected=f"at most {size_max}")
        waiting.append(piece)
        waiting_bytes += len(piece)
        if waiting_bytes >= READ_CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, waiting_bytes = [], 0
    if waiting_bytes:
        yield b"".join(waiting)


class _Lane:
    """Calls of one function in order, in one thread of ``pool`` at a time; half of ``PIECES_IN_FLIGHT_MAX`` are under
    way at once, and half wait."""

    def __init__(self, function: Callable[[bytes], object], pool: ThreadPoolExecutor) -> None:
        self._function, self._pool = function, pool
        self._waiting: list[bytes] = []
        self._running: asyncio.Future[None] | None = None

    async def feed(self, piece: bytes) -> None:
        if self._running is not None and (self._running.done() or len(self._waiting) >= PIECES_IN_FLIGHT_MAX // 2):
            await self._running
            self._running = None
        self._waiting.append(piece)
        if self._running is None:
            self._go()

    async def drain(self) -> None:
        while self._running is not None:
            await self._running
            self._running = None
            if self._waiting:
                self._go()

    def close(self) -> None:
        """Let a running call end by itself; what waits is dropped."""
        self._waiting = []
        if self._running is not None:
            self._running.add_done_callback(_take_notice)

    def _go(self) -> None:
        pieces, self._waiting = self._waiting, []
        self._running = asyncio.get_running_loop().run_in_executor(self._pool, self._call, pieces)

    def _call(self, pieces: list[bytes]) -> None:
        for piece in pieces:
            self._function(piece)


def _take_notice(call: asyncio.Future[None]) -> None:
    # An error nobody asks for any more would be reported as "never retrieved".
    if not call.cancelled():
        call.exception()
