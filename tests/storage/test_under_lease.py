"""Work ends with its lease, and the lease is kept until the end of the work is noted."""

from __future__ import annotations

import asyncio

import pytest

from opendatafabric.errors import StorageError
from storage.under_lease import under_lease


class Both:
    """Work and the keeping of its lease, which end when the test says so."""

    def __init__(self) -> None:
        self.work_ends, self.lease_ends = asyncio.Event(), asyncio.Event()
        self.cancelled: list[str] = []

    async def work(self) -> int:
        await self._until(self.work_ends, "work")
        return 7

    async def keep(self) -> None:
        await self._until(self.lease_ends, "lease")

    async def _until(self, event: asyncio.Event, name: str) -> None:
        try:
            await event.wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise


async def test_the_lease_is_kept_until_the_end_is_noted() -> None:
    both = Both()
    both.work_ends.set()
    async with under_lease(both.work(), both.keep()) as done:
        assert done is not None
        assert (done.result(), both.cancelled) == (7, [])
    assert both.cancelled == ["lease"]


async def test_work_whose_lease_is_lost_ends() -> None:
    both = Both()
    both.lease_ends.set()
    async with under_lease(both.work(), both.keep()) as done:
        assert done is None
    assert both.cancelled == ["work"]


async def test_an_error_of_the_work_is_its_result() -> None:
    async def fail() -> None:
        raise StorageError("no room")

    both = Both()
    async with under_lease(fail(), both.keep()) as done:
        assert done is not None
        with pytest.raises(StorageError):
            done.result()
    assert both.cancelled == ["lease"]


async def test_being_cancelled_ends_both() -> None:
    both = Both()

    async def run() -> None:
        async with under_lease(both.work(), both.keep()):
            pass

    running = asyncio.create_task(run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(both.cancelled) == ["lease", "work"]
