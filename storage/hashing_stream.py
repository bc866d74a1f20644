"""Bytes on their way in, hashed and written at the same time without holding up the event loop.

Pieces are gathered to about a mebibyte, then hashed by one thread and written by another, each in order, a few pieces
in flight. Hashing is the slower of the two, so an upload runs at the speed of SHA3. Where the bytes end up is not known
here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from opendatafabric.errors import LimitExceeded
from opendatafabric.limits import PIECES_IN_FLIGHT_MAX, READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash


async def hash_while(
    write: Callable[[bytes], object], pieces: AsyncIterator[bytes], *, size_max: int
) -> tuple[Multihash, int]:
    """Give every piece to ``write``, in order and in a thread of its own; the hash and the size of them all.

    Raises:
        LimitExceeded: more than ``size_max`` bytes.
        Exception: whatever ``pieces`` or ``write`` raise.
    """
    hasher = Hasher()
    hashing, writing = _Lane(hasher.update, "hash"), _Lane(write, "write")
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
    """Calls of one function in order in one thread, with at most ``PIECES_IN_FLIGHT_MAX`` of them waiting."""

    def __init__(self, function: Callable[[bytes], object], name: str) -> None:
        self._function = function
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: deque[asyncio.Future[object]] = deque()

    async def feed(self, piece: bytes) -> None:
        while len(self._waiting) >= PIECES_IN_FLIGHT_MAX:
            await self._waiting.popleft()
        self._waiting.append(asyncio.get_running_loop().run_in_executor(self._thread, self._function, piece))

    async def drain(self) -> None:
        while self._waiting:
            await self._waiting.popleft()

    def close(self) -> None:
        """Let a running call end by itself; those that wait are dropped."""
        for call in self._waiting:
            call.add_done_callback(_take_notice)
        self._thread.shutdown(wait=False, cancel_futures=True)


def _take_notice(call: asyncio.Future[object]) -> None:
    # An error nobody asks for any more would be reported as "never retrieved".
    if not call.cancelled():
        call.exception()
