"""A repository at an IPFS node: the bytes of its datasets in IPFS, everything else in the tables of a catalog.

Which datasets there are, their names, refs and leases, and which key is which CID: each change of these is one
transaction. So any number of processes over the same catalog may work on it, and the node is asked for bytes alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Final

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, NotARepository
from storage.chain_states import ChainStates
from storage.dataset import Dataset
from storage.folders import RepositoryLayout, RetiredDataset
from storage.ipfs.node import IpfsNode
from storage.ipfs.node_place import NodePlace
from storage.ipfs.objects import IpfsObjectStore, unpin_released
from storage.ipfs.table import StoredDataset, StoreTables
from storage.memory import MemoryObjectStore
from storage.places import DatasetPlace
from storage.protocols import ObjectStore
from storage.repository import DatasetEntry
from storage.values import FsckFinding
from storage.wrappers.caching import CachingObjectStore, ObjectCache
from storage.wrappers.retrying import Patience, RetryingObjectStore

_PATIENCE: Final = Patience(tries=3)
"""A client waits for the answer, so a node that is down is told soon."""


class IpfsRepository:
    """The datasets that ``tables`` know at ``place``; made by ``open`` or ``init``.

    Up to ``cache_bytes_max`` of blocks are kept in memory: each costs a request to the node.
    """

    def __init__(self, node: IpfsNode, tables: StoreTables, place: NodePlace, *, cache_bytes_max: int = 0) -> None:
        self.place = place
        self._node = node
        self._tables = tables
        self._datasets = tables.datasets(place.path)
        self._cache = ObjectCache(MemoryObjectStore(), bytes_max=cache_bytes_max)
        self._known: defaultdict[DatasetId, set[str]] = defaultdict(set)
        self._states = ChainStates()

    async def init(self) -> IpfsRepository:
        """Make it, or open the one that is there.

        Raises:
            TransientStorageError: the node does not answer.
        """
        await self.check()
        await self._datasets.make()
        return self

    async def open(self) -> IpfsRepository:
        """Open it, whether or not the node answers.

        Raises:
            NotARepository: the catalog knows of none.
        """
        if not await self._datasets.exists():
            raise NotARepository(
                f"the catalog knows no repository at {self.place}",
                hint=f"is this the right catalog? Make a repository with: odf init {self.place}",
            )
        return self

    async def check(self) -> None:
        """As in ``DatasetRepository``."""
        await self._node.version()

    @property
    def layout(self) -> RepositoryLayout:
        return RepositoryLayout.BY_ID

    # --- finding

    async def find(self, ref: DatasetRef, *, include_pending: bool = False) -> DatasetEntry:
        """As in ``DatasetRepository``."""
        found = await self._datasets.find(ref)
        if found is None or (found.pending and not include_pending):
            raise DatasetNotFound(f"dataset {ref} is not in the repository", hint="odf list shows what is")
        return self._entry(found)

    async def iterate(self, *, include_pending: bool = False) -> AsyncIterator[DatasetEntry]:
        """As in ``DatasetRepository``."""
        for found in await self._datasets.list():
            if include_pending or not found.pending:
                yield self._entry(found)

    def address_of(self, entry: DatasetEntry) -> str:
        """As in ``DatasetRepository``."""
        return str(self.place.below(entry.place))

    async def places(self) -> AsyncIterator[DatasetPlace]:
        """As in ``DatasetRepository``."""
        for found in await self._datasets.list():
            entry = self._entry(found)
            address = self.address_of(entry)
            yield DatasetPlace(entry.place, address, entry.alias, entry.id, entry.pending, entry.dataset)

    async def strays(self) -> Sequence[FsckFinding]:
        """As in ``DatasetRepository``: tables have no room for others."""
        return ()

    # --- changing

    async def create(self, alias: DatasetAlias, dataset_id: DatasetId) -> DatasetEntry:
        """As in ``DatasetRepository``."""
        await self._datasets.create(alias, dataset_id)
        return await self.find(dataset_id, include_pending=True)

    async def rename(self, ref: DatasetRef, alias: DatasetAlias) -> DatasetEntry:
        """As in ``DatasetRepository``."""
        entry = await self.find(ref, include_pending=True)
        await self._datasets.rename(entry.id, alias)
        return await self.find(entry.id, include_pending=True)

    async def delete(self, ref: DatasetRef) -> None:
        """As in ``DatasetRepository``; its bytes are unpinned by the next sweep."""
        entry = await self.find(ref, include_pending=True)
        await self._datasets.remove(entry.id)
        self._known.pop(entry.id, None)

    async def retire(self, ref: DatasetRef) -> None:
        """As in ``DatasetRepository``."""
        await self._datasets.retire(ref if isinstance(ref, DatasetId) else (await self.find(ref)).id)

    async def restore(self, dataset_id: DatasetId, alias: DatasetAlias) -> DatasetEntry:
        """As in ``DatasetRepository``."""
        await self._datasets.restore(dataset_id, alias)
        return await self.find(dataset_id)

    async def discard(self, dataset_id: DatasetId) -> None:
        """As in ``DatasetRepository``; its bytes are unpinned by the next sweep."""
        await self._datasets.discard(dataset_id)
        self._known.pop(dataset_id, None)

    async def retired(self) -> Sequence[RetiredDataset]:
        """As in ``DatasetRepository``."""
        return await self._datasets.retired()

    async def sweep(self, *, unused_for_s: float, now: float | None = None) -> Sequence[DatasetId]:
        """As in ``DatasetRepository``; also unpins what was released.

        Raises:
            TransientStorageError: the node does not answer.
        """
        removed = await self._datasets.remove_pending((time.time() if now is None else now) - unused_for_s)
        await unpin_released(self._node, self._tables.files(self.place.path))
        return removed

    def _entry(self, found: StoredDataset) -> DatasetEntry:
        place = self.place.below(found.id.multibase).path
        dataset = Dataset(self._objects(found.id, place), self._tables.refs(place), states=self._states)
        return DatasetEntry(found.id, found.alias, dataset, None, found.pending)

    def _objects(self, dataset_id: DatasetId, place: str) -> ObjectStore:
        at_node = IpfsObjectStore(self._node, self._tables.files(place), self._tables.leases(place))
        return CachingObjectStore(
            RetryingObjectStore(at_node, _PATIENCE), self._cache, known_keys=self._known[dataset_id]
        )
