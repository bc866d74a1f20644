"""Bytes on their way into a bucket: hashed in a thread while the piece before is being sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from opendatafabric.multihash import Hasher
from storage.hashing_stream import gathered


class Incoming:
    """The pieces of one object; ``ended`` once the last was taken.

    ``failure`` keeps what the caller's stream raised: a client library may reword it.
    """

    def __init__(self, pieces: AsyncIterator[bytes], *, size_max: int) -> None:
        self.hasher = Hasher()
        self.failure: BaseException | None = None
        self.ended = False
        self._pieces = gathered(pieces, size_max=size_max)

    async def take(self, count: int) -> list[bytes]:
        """The first pieces, ``count`` bytes or a little more; fewer when the stream ends, which ``ended`` tells."""
        taken: list[bytes] = []
        while sum(map(len, taken)) < count:
            piece = await self._next()
            if piece is None:
                break
            taken.append(piece)
            await asyncio.to_thread(self.hasher.update, piece)
        return taken

    async def after(self, taken: Sequence[bytes]) -> AsyncIterator[bytes]:
        """``taken`` again, then the rest."""
        for piece in taken:
            yield piece
        while (following := await self._next()) is not None:
            hashing = asyncio.create_task(asyncio.to_thread(self.hasher.update, following))
            yield following
            await hashing

    async def _next(self) -> bytes | None:
        try:
            piece = await anext(self._pieces, None)
        except BaseException as failure:
            self.failure = failure
            raise
        self.ended = piece is None
        return piece
