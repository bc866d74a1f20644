"""Many requests under way at the same time, and never more than the store is to bear."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from opendatafabric.limits import S3_REQUESTS_AT_ONCE

Each = TypeVar("Each")
Got = TypeVar("Got")


async def at_once(action: Callable[[Each], Awaitable[Got]], over: Iterable[Each]) -> list[Got]:
    """What ``action`` gives for each, in their order."""
    room = asyncio.Semaphore(S3_REQUESTS_AT_ONCE)

    async def act(each: Each) -> Got:
        async with room:
            return await action(each)

    return await asyncio.gather(*map(act, over))
