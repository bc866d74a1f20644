"""Keeps the index of facts up to date, for pages and searches.

Whoever moves a head here wakes it. What other processes of this catalog move, it finds in their notes within half a
second; what programs without a catalog do to the datasets, when it looks at all of them, now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.facts_of_blocks import Facts
from catalog.facts_refresh import refresh_facts
from catalog.reindex import reindex
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from repo_server.logs import SERVER
from storage.dataset import Dataset
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry

_NOTES_EVERY_S: Final = 0.5
_PATIENCE_S: Final = 0.5
"""How long somebody who looks at a dataset waits for what is new in its chain; more is read while they look."""

_AT_ONCE: Final = 4


class Indexing:
    """Between the datasets of a repository and the index in a catalog."""

    def __init__(
        self, repository: DatasetRepository, catalog: Catalog, *, default_owner: Account, default_visibility: Visibility
    ) -> None:
        self._repository = repository
        self._catalog = catalog
        self._default_owner = default_owner
        self._default_visibility = default_visibility
        self._running: dict[DatasetId, asyncio.Task[None]] = {}
        self._again: set[DatasetId] = set()
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._last_move = 0
        self._seen: Hashable | None = None

    def wake(self, dataset_id: DatasetId) -> None:
        """Look at a dataset soon: its head moved."""
        if dataset_id in self._running:
            self._again.add(dataset_id)
        else:
            self._begin(dataset_id, None)

    async def facts_of(self, dataset_id: DatasetId, dataset: Dataset) -> Facts | None:
        """What is known of the dataset, brought up to date if that takes no time."""
        known = await self._catalog.dataset_facts.of(dataset_id)
        if known is not None and known.head == await dataset.head():
            return known
        task = self._running.get(dataset_id) or self._begin(dataset_id, dataset)
        await asyncio.wait({task}, timeout=_PATIENCE_S)
        return await self._catalog.dataset_facts.of(dataset_id)

    async def run_for_ever(self, *, look_every_s: float) -> None:
        """Follow the notes of other processes; every ``look_every_s`` seconds, and at the start, look at all."""
        self._last_move = await self._catalog.datasets.last_move()
        async with asyncio.TaskGroup() as both:
            both.create_task(_repeated(self._follow_notes, _NOTES_EVERY_S))
            both.create_task(_repeated(self._index_all, look_every_s, then=self.look_at_all))

    async def look_at_all(self) -> None:
        """Know every dataset that is there, and none that is gone, up to its head."""
        await reindex(
            self._repository,
            self._catalog.accounts,
            self._catalog.datasets,
            default_owner=self._default_owner,
            default_visibility=self._default_visibility,
        )
        await self._index_all()

    async def settle(self) -> None:
        """End what is under way; it is gone on with next time."""
        self._again.clear()
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _index_all(self) -> None:
        known = await self._catalog.dataset_facts.heads()
        async for entry in self._repository.iterate():
            if known.get(entry.id) != await _head_of(entry):
                await asyncio.wait({self._running.get(entry.id) or self._begin(entry.id, entry.dataset)})

    async def _follow_notes(self) -> None:
        version = self._catalog.version()
        if version is not None and version == self._seen:
            return
        self._seen = version
        self._last_move, moved = await self._catalog.datasets.moved_since(self._last_move)
        for dataset_id in moved:
            self.wake(dataset_id)

    def _begin(self, dataset_id: DatasetId, dataset: Dataset | None) -> asyncio.Task[None]:
        task = asyncio.create_task(self._refresh(dataset_id, dataset))
        self._running[dataset_id] = task
        task.add_done_callback(lambda _: self._ended(dataset_id))
        return task

    def _ended(self, dataset_id: DatasetId) -> None:
        self._running.pop(dataset_id, None)
        if dataset_id in self._again:
            self._again.discard(dataset_id)
            self._begin(dataset_id, None)

    async def _refresh(self, dataset_id: DatasetId, dataset: Dataset | None) -> None:
        try:
            async with self._room:
                found = dataset or (await self._repository.find(dataset_id)).dataset
                await refresh_facts(self._catalog.dataset_facts, dataset_id, found)
        except DatasetNotFound:  # it may come back; what is gone for good, others forget
            return
        except OdfError as error:
            SERVER.warning("dataset %s cannot be indexed: %s", dataset_id, error)


async def _head_of(entry: DatasetEntry) -> str | None:
    try:
        return str(await entry.dataset.head())
    except OdfError:  # what is damaged is told when it is read
        return None


async def _repeated(
    job: Callable[[], Awaitable[None]], every_s: float, *, then: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Do ``job``, and again, or ``then``, each time after ``every_s`` seconds; failures are logged."""
    while True:
        try:
            await job()
        except OdfError as error:
            SERVER.warning("the index of facts waits: %s", error)
        job = then or job
        await asyncio.sleep(every_s)
