"""Which key lies in IPFS under which CID: IPFS finds nothing by our hashes, so a table does.

Unlike the index of trees this table is the truth: what it does not name is not in the store. CIDs are *held* from
before they are pinned until a key names them, so that nobody lets go of bytes that somebody else is just putting there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from opendatafabric.ipfs.cid import Cid
from opendatafabric.multihash import Multihash
from storage.protocols import RefStore
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
    """The files of one dataset. *Released* are CIDs that no dataset names or holds any more."""

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

    async def let_go_before(self, moment: float) -> Sequence[Cid]:
        """Hold nothing any longer that was held before ``moment``; what is released."""
        ...

    async def remove(self, key: str) -> Sequence[Cid]:
        """Name ``key`` no longer; what is released. An absent key is no error."""
        ...

    async def needed(self, cids: Collection[Cid]) -> set[Cid]:
        """Those of ``cids`` that some dataset names or holds."""
        ...


class StoreTables(Protocol):
    """Where stores that need a database find their part of it; ``place`` names one dataset's."""

    def files(self, place: str) -> FileTable: ...

    def refs(self, place: str) -> RefStore: ...
