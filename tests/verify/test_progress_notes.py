"""How far a job is, is told now and then, and never gets into its way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from opendatafabric.errors import TransientStorageError
from verify.progress_notes import told_progress


class Notes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, Any]] = []
        self.news = asyncio.Event()

    async def tell(self, amounts: Mapping[str, Any]) -> None:
        self.told.append(amounts)
        self.news.set()

    async def next(self) -> Mapping[str, Any]:
        async with asyncio.timeout(30):
            await self.news.wait()
        self.news.clear()
        return self.told[-1]


async def test_many_steps_are_told_at_once() -> None:
    notes = Notes()
    async with told_progress(notes.tell, every_s=0) as progress:
        for done in range(100):
            progress("blocks", done, 100)
        progress("objects", 1, None)
        assert await notes.next() == {
            "blocks": {"done": 99, "total": 100},
            "objects": {"done": 1, "total": None},
        }
        progress("objects", 2, 2)
        assert (await notes.next())["objects"] == {"done": 2, "total": 2}
    assert len(notes.told) == 2


async def test_threads_may_tell_too() -> None:
    notes = Notes()
    async with told_progress(notes.tell) as progress:
        await asyncio.to_thread(progress, "blocks", 1, 2)
        assert await notes.next() == {"blocks": {"done": 1, "total": 2}}


async def test_that_telling_fails_is_no_matter() -> None:
    notes = Notes()

    async def tell(amounts: Mapping[str, Any]) -> None:
        await notes.tell(amounts)
        if len(notes.told) == 1:
            raise TransientStorageError("the catalog is away")

    async with told_progress(tell, every_s=0) as progress:
        progress("blocks", 1, 2)
        await notes.next()
        progress("blocks", 2, 2)
        assert await notes.next() == {"blocks": {"done": 2, "total": 2}}
