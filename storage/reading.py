"""What stores without a quicker way do for ``read`` and ``follow``: gather the stream, go from key to key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from opendatafabric.errors import LimitExceeded
from storage.values import Followed


async def joined(key: str, pieces: AsyncIterator[bytes], *, size_max: int) -> bytes:
    """All bytes of ``pieces``; ``LimitExceeded`` as soon as there are more than ``size_max``."""
    taken, size = [], 0
    async for piece in pieces:
        size += len(piece)
        if size > size_max:
            raise LimitExceeded(f"{key} is larger than may be read at once", expected=size_max)
        taken.append(piece)
    return b"".join(taken)


async def followed(
    read: Callable[[str], Awaitable[bytes]], key: str, next_key: Callable[[bytes], str | None], *, count_max: int
) -> Followed:
    """What ``ObjectReader.follow`` promises, one ``read`` after another."""
    found: Followed = []
    following: str | None = key
    while following is not None and len(found) < count_max:
        found.append((following, await read(following)))
        following = next_key(found[-1][1])
    return found
