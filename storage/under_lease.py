"""Work that goes on only as long as its lease is kept."""

from __future__ import annotations

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def under_lease(work: Coroutine[Any, Any, T], keep: Coroutine[Any, Any, None]) -> AsyncIterator[Task[T] | None]:
    """The ended task of ``work``, or ``None`` if ``keep`` ended first: then the lease is somebody else's.

    ``keep`` goes on inside the context, so that the end can be noted while the lease holds; both have ended after it.
    """
    working, keeping = asyncio.create_task(work), asyncio.create_task(keep)
    try:
        await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
        yield working if working.done() else None
    finally:
        for task in (working, keeping):
            task.cancel()
        await asyncio.gather(working, keeping, return_exceptions=True)
