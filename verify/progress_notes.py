"""How far a job is, told now and then to somebody who keeps it, however often the job says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from opendatafabric.errors import OdfError
from storage.progress import Progress

TELL_EVERY_S: Final = 1.0

Tell = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Keeps amounts by their labels: ``{"blocks": {"done": 3, "total": 7}}``."""


@asynccontextmanager
async def told_progress(tell: Tell, *, every_s: float = TELL_EVERY_S) -> AsyncIterator[Progress]:
    """What to hand to the job. That telling fails is no matter."""
    amounts: dict[str, dict[str, int | None]] = {}
    news = asyncio.Event()
    loop = asyncio.get_running_loop()

    def advance(label: str, done: int, total: int | None) -> None:
        amounts[label] = {"done": done, "total": total}
        loop.call_soon_threadsafe(news.set)

    async def tell_for_ever() -> None:
        while True:
            await news.wait()
            news.clear()
            with suppress(OdfError):
                await tell(dict(amounts))
            await asyncio.sleep(every_s)

    telling = asyncio.create_task(tell_for_ever())
    try:
        yield advance
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
