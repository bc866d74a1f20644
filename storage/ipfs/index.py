"""What is known of objects and datasets in IPFS, and the table that remembers it.

Nothing in it is a truth of its own: every row follows from stored bytes and can be made again. It is kept because
making it means reading everything. CIDs of files are per object, so equal objects of several datasets are read once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from opendatafabric.did import DatasetId
from opendatafabric.ipfs.cid import Block, Cid
from opendatafabric.ipfs.unixfs import Tree
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A block of a file: ``size`` bytes of the object from ``offset`` on, or the bytes of a ``node`` above them."""

    cid: Cid
    offset: int
    size: int
    node: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """An object as a UnixFS file; ``blocks`` are all of its tree."""

    physical_hash: Multihash
    tree: Tree
    blocks: tuple[FileBlock, ...]


@dataclass(frozen=True, slots=True)
class PublishedTree:
    """A dataset at ``head`` as a UnixFS folder."""

    dataset_id: DatasetId
    head: Multihash
    root: Tree


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block or file lies: in ``data``, or at ``offset`` in the object ``key`` of a dataset.

    ``size`` is ``None`` for a whole object.
    """

    dataset_id: DatasetId
    key: str = ""
    offset: int = 0
    size: int | None = None
    data: bytes | None = None


class FileIndex(Protocol):
    """Which object is which UnixFS file."""

    async def known_files(self, hashes: Collection[Multihash]) -> dict[Multihash, Tree]:
        """Those of ``hashes`` that are known."""
        ...

    async def put_files(self, files: Sequence[IndexedFile]) -> None:
        """Remember files; known ones are left alone."""
        ...


class TreeIndex(FileIndex, Protocol):
    """Which datasets are which folders, and where each block of them lies."""

    async def latest_tree(self, dataset_id: DatasetId) -> PublishedTree | None:
        """The tree published last."""
        ...

    async def publish(
        self,
        tree: PublishedTree,
        added: Mapping[str, Multihash],
        nodes: Sequence[Block],
        *,
        replaced: Collection[Cid] | None,
    ) -> None:
        """Make ``tree`` the latest one, at once and as a whole.

        ``added`` are keys that the one before did not have, ``nodes`` blocks of its folders and refs, instead of
        those ``replaced``; ``None`` means that nothing is left of the one before. A few earlier trees stay, for
        readers who are in the middle of one.
        """
        ...

    async def find_block(self, cid: Cid) -> list[Place]:
        """Where the block of ``cid`` lies, in some of the datasets that have it."""
        ...

    async def find_file(self, cid: Cid) -> list[Place]:
        """The whole objects that are the UnixFS file ``cid``, in some of the datasets that have it."""
        ...

    async def published_datasets(self) -> list[DatasetId]:
        """Every dataset that has a tree."""
        ...

    async def forget(self, dataset_id: DatasetId) -> None:
        """Have no tree of a dataset any more."""
        ...
