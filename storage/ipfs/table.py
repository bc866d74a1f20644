"""Which key lies in IPFS under which CID: IPFS finds nothing by our hashes, so a table does.

Unlike the index of trees this table is the truth: what it does not name is not in the store. CIDs are *held* from
before they are pinned until a key names them, so that nobody lets go of bytes that somebody else is just putting there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.ipfs.cid import Cid
from opendatafabric.multihash import Multihash
from storage.folders import RetiredDataset
from storage.protocols import LeaseStore, RefStore
from storage.values import WriteMode


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A key and the UnixFS file behind it; ``modified_at`` in seconds since 1970."""

    key: str
    cid: Cid
    size: int
    modified_at: float


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file that no key names yet, under a token nobody can guess."""

    token: str
    cid: Cid
    hash: Multihash
    size: int


class FileTable(Protocol):
    """The files of one dataset.

    *Released* are CIDs that no dataset names or holds any more: noted until somebody says that they were unpinned.
    """

    async def find(self, key: str) -> NamedFile | None:
        """What ``key`` names."""
        ...

    async def list(self, prefix: str) -> Sequence[NamedFile]:
        """Every key that begins with ``prefix``."""
        ...

    async def hold(self, files: Sequence[HeldFile]) -> None:
        """Keep CIDs from being released."""
        ...

    async def name(self, tokens: Sequence[tuple[str, str]], mode: WriteMode) -> Sequence[Cid]:
        """Let keys name what is held under tokens, all at once; what is released by that.

        Raises:
            ObjectNotFound: nothing is held under a token.
            Conflict: ``mode`` is CREATE and the key exists.
        """
        ...

    async def let_go(self, token: str) -> Sequence[Cid]:
        """Hold a file no longer; what is released. An unknown token is no error."""
        ...

    async def held_before(self, moment: float) -> Sequence[tuple[str, int, float]]:
        """What this dataset holds since before ``moment``: token, size, since when."""
        ...

    async def remove(self, key: str) -> Sequence[Cid]:
        """Name ``key`` no longer; what is released. An absent key is no error."""
        ...

    async def released(self) -> Sequence[Cid]:
        """What was released, of whatever dataset, and not unpinned yet."""
        ...

    async def unpinned(self, cids: Collection[Cid]) -> set[Cid]:
        """Note that these were unpinned; those of them that some dataset names or holds again."""
        ...


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A dataset of a repository; ``pending`` ones have no head yet."""

    id: DatasetId
    alias: DatasetAlias
    pending: bool


class DatasetTable(Protocol):
    """The datasets of one repository. Every change is one transaction, together with the tables of the datasets."""

    async def make(self) -> None:
        """Make the repository; one that is there stays as it is."""
        ...

    async def exists(self) -> bool:
        """Whether it was made."""
        ...

    async def find(self, ref: DatasetRef) -> StoredDataset | None:
        """The dataset of that id or alias."""
        ...

    async def list(self) -> Sequence[StoredDataset]:
        """All of them in the order of the aliases."""
        ...

    async def create(self, alias: DatasetAlias, dataset_id: DatasetId) -> None:
        """A pending dataset; errors as ``DatasetRepository.create``."""
        ...

    async def rename(self, dataset_id: DatasetId, alias: DatasetAlias) -> None:
        """Errors as ``DatasetRepository.rename``."""
        ...

    async def remove(self, dataset_id: DatasetId) -> None:
        """Remove a dataset with its refs and files; ``DatasetNotFound`` when there is none."""
        ...

    async def retire(self, dataset_id: DatasetId) -> None:
        """Keep a dataset out of sight; ``DatasetNotFound`` when there is none."""
        ...

    async def restore(self, dataset_id: DatasetId, alias: DatasetAlias) -> None:
        """Errors as ``DatasetRepository.restore``."""
        ...

    async def discard(self, dataset_id: DatasetId) -> None:
        """As ``remove``, for one that is out of sight."""
        ...

    async def retired(self) -> Sequence[RetiredDataset]:
        """Those that are out of sight."""
        ...

    async def remove_pending(self, before: float) -> Sequence[DatasetId]:
        """Remove pending datasets into which nothing was written since that moment; which these were."""
        ...


class StoreTables(Protocol):
    """Where stores that need a database find their part of it; ``place`` names one dataset's, or a repository's."""

    def files(self, place: str) -> FileTable: ...

    def refs(self, place: str) -> RefStore: ...

    def leases(self, place: str) -> LeaseStore: ...

    def datasets(self, place: str) -> DatasetTable: ...
