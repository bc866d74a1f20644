"""Keeps the index of facts up to date, for pages and searches.

Whoever moves a head here wakes it. What other processes of this catalog move, it finds in their notes within a quarter
of a second, and that a command may have changed something in the audit log as quickly; what programs without a catalog
do to the datasets, when it looks at all of them, now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Final

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.facts_of_blocks import Facts
from catalog.facts_refresh import refresh_facts, refresh_many
from catalog.reindex import reindex
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from repo_server.logs import SERVER
from storage.dataset import Dataset
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry

_NOTES_EVERY_S: Final = 0.25
_PATIENCE_S: Final = 0.5
"""How long somebody who looks at a dataset waits for what is new in its chain; more is read while they look."""

_AT_ONCE: Final = 4
_BATCH: Final = 50
"""Datasets that are looked at together and written in one transaction."""


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
        self.left = 0
        """Datasets that are yet to be looked at, of all that had news when these were last looked for."""
        self._looked = False
        self._last_move = self._last_command = 0
        self._commanded = asyncio.Event()
        self._seen: Hashable | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every dataset was looked at that had news when these were last looked for."""
        return self._looked and not self.left

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
        self._last_command = await self._catalog.audit.last_command()
        async with asyncio.TaskGroup() as both:
            both.create_task(self._follow_for_ever())
            both.create_task(self._look_for_ever(look_every_s))

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
        news = await self._news()
        self.left = len(news)
        if len(news) > _BATCH:
            SERVER.info("%d datasets are looked at for the index", len(news))
        for start in range(0, len(news), _BATCH):
            batch = {entry.id: entry.dataset for entry in news[start : start + _BATCH]}
            for dataset_id, error in (await refresh_many(self._catalog.dataset_facts, batch)).items():
                _tell(dataset_id, error)
            self.left -= len(batch)
        self._looked = True

    async def _news(self) -> list[DatasetEntry]:
        """Datasets that are known up to another head than they have."""
        known = await self._catalog.dataset_facts.heads()
        found: list[DatasetEntry] = []
        entries = [entry async for entry in self._repository.iterate()]
        for start in range(0, len(entries), _BATCH):
            batch = entries[start : start + _BATCH]
            heads = await asyncio.gather(*map(_head_of, batch))
            found += [entry for entry, head in zip(batch, heads, strict=True) if known.get(entry.id) != head]
        return found

    async def _follow_notes(self) -> None:
        version = self._catalog.version()
        if version is not None and version == self._seen:
            return
        self._seen = version
        self._last_move, moved = await self._catalog.datasets.moved_since(self._last_move)
        for dataset_id in moved:
            self.wake(dataset_id)
        before, self._last_command = self._last_command, await self._catalog.audit.last_command(self._last_command)
        if before != self._last_command:
            self._commanded.set()

    async def _follow_for_ever(self) -> None:
        while True:
            await _tried(self._follow_notes)
            await asyncio.sleep(_NOTES_EVERY_S)

    async def _look_for_ever(self, look_every_s: float) -> None:
        """Look at all datasets every so often, and whenever a command may have changed one."""
        await _tried(self._index_all)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(look_every_s):
                    await self._commanded.wait()
            self._commanded.clear()
            await _tried(self.look_at_all)

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
            _tell(dataset_id, error)


def _tell(dataset_id: DatasetId, error: OdfError) -> None:
    SERVER.warning("dataset %s cannot be indexed: %s", dataset_id, error)


async def _head_of(entry: DatasetEntry) -> str | None:
    try:
        return str(await entry.dataset.head())
    except OdfError:  # what is damaged is told when it is read
        return None


async def _tried(job: Callable[[], Awaitable[None]]) -> None:
    """Failures are logged: there is a next time."""
    try:
        await job()
    except OdfError as error:
        SERVER.warning("the index of facts waits: %s", error)
