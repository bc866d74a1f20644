"""Keeping IPFS up to date with the heads: the tree of every public dataset, and the record of its name.

A push never waits for this: it wakes the publisher up. A round over everything, now and then, finds what was changed by
other programs, and renews records before they end. Any number of servers may do the same work: it gives the same
result, and the number of a record only ever grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from catalog.catalog import Catalog
from catalog.ipns import StoredRecord
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.instant import Instant
from opendatafabric.ipfs.ipns import IpnsRecord
from repo_server.directory import Directory
from repo_server.ipfs.keys import IpnsKeys
from repo_server.logs import SERVER
from storage.ipfs.index import PublishedTree
from storage.ipfs.trees import publish_tree
from storage.repositories import DatasetRepository

RECORD_S: Final = 48 * 3_600
"""How long a record is good, as Kubo has it."""

RENEW_BEFORE_S: Final = RECORD_S / 2
"""A record that ends sooner is signed again."""

TTL_S: Final = 60
"""How long others may keep a record before they ask again."""

_ROUND_S: Final = 300
_RETRY_S: Final = 30
"""How soon a round comes after something failed that a later try may help."""


class Publisher:
    """Trees and records of one repository; ``now`` in seconds since 1970."""

    def __init__(
        self,
        repository: DatasetRepository,
        directory: Directory,
        catalog: Catalog,
        keys: IpnsKeys,
        now: Callable[[], float],
    ) -> None:
        self.keys = keys
        self._repository = repository
        self._directory = directory
        self._catalog = catalog
        self._now = now
        self._waiting: set[DatasetId] = set()
        self._wake = asyncio.Event()
        self._stopping = False

    def wake(self, dataset_id: DatasetId) -> None:
        """A head moved: publish it soon."""
        self._waiting.add(dataset_id)
        self._wake.set()

    def stop(self) -> None:
        """End after the dataset that is being published."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Publish what there is, then what changes, until ``stop``."""
        clock = asyncio.get_running_loop().time
        next_round = clock()
        while not self._stopping:
            if clock() >= next_round:
                next_round = clock() + (_ROUND_S if await self.publish_all() else _RETRY_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), next_round - clock())
            self._wake.clear()
            waiting, self._waiting = self._waiting, set()
            if not await self._publish_each(waiting):
                next_round = min(next_round, clock() + _RETRY_S)

    async def publish_all(self) -> bool:
        """One round over everything; whether the next one may wait. What fails is logged and tried in the next one."""
        try:
            public = [entry.id async for entry in self._repository.iterate() if await self._is_public(entry.id)]
            done = await self._publish_each(public)
            for gone in set(await self._catalog.ipfs.published_datasets()) - set(public):
                await self._forget(gone)
        except OdfError as error:
            SERVER.warning("a round of publishing to IPFS failed: %s", error)
            return not error.retryable
        return done

    async def publish(self, dataset_id: DatasetId) -> PublishedTree | None:
        """Bring tree and record of a dataset up to its head; one that is not public has neither.

        Raises:
            OdfError: the dataset is damaged, or a store failed.
        """
        hosted = await self._directory.find(dataset_id)
        if hosted is None or not await self._is_public(dataset_id):
            await self._forget(dataset_id)
            return None
        tree = await publish_tree(dataset_id, hosted.entry.dataset, self._catalog.ipfs)
        if tree is not None:
            await self._catalog.ipns.replace(dataset_id, lambda known: self._renewed(tree, known))
        return tree

    async def _publish_each(self, dataset_ids: Iterable[DatasetId]) -> bool:
        """Whether nothing failed that a later try may help."""
        done = True
        for dataset_id in dataset_ids:
            if self._stopping:
                break
            try:
                await self.publish(dataset_id)
            except OdfError as error:
                done = done and not error.retryable
                SERVER.warning("%s could not be published to IPFS: %s", dataset_id, error)
        return done

    async def _is_public(self, dataset_id: DatasetId) -> bool:
        hosted = await self._directory.find(dataset_id)
        return hosted is not None and not hosted.entry.pending and hosted.record.visibility is Visibility.PUBLIC

    async def _forget(self, dataset_id: DatasetId) -> None:
        await self._catalog.ipfs.forget(dataset_id)
        await self._catalog.ipns.forget(dataset_id)

    def _renewed(self, tree: PublishedTree, known: StoredRecord | None) -> StoredRecord | None:
        now, value = self._now(), f"/ipfs/{tree.root.cid}"
        name = str(self.keys.name_of(tree.dataset_id))
        is_same = known is not None and (known.value, known.name) == (value, name)
        if known is not None and is_same and known.valid_until - now > RENEW_BEFORE_S:
            return None
        sequence = max(int(now), 0 if known is None else known.sequence + 1)
        valid_until = Instant.from_datetime(datetime.fromtimestamp(now + RECORD_S, UTC))
        signed = self.keys.sign(tree.dataset_id, IpnsRecord(value, sequence, valid_until, TTL_S * 10**9))
        return StoredRecord(tree.dataset_id, name, value, sequence, now + RECORD_S, signed)
