"""The contracts of stores, in prose and types. Suites in ``tests/suites`` check every implementation against them.

Keys are relative paths of ``opendatafabric/layout.py`` (``blocks/f1620…``, ``data/f1620…``), so one store serves one
dataset; anything else is a ``MalformedIdentifier``, and so is a key under ``refs/``. Stores do not know what a block is
and do not check hashes on reading: the caller does (``Dataset``). All methods are coroutines that never block the
event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.values import (
    ByteRange,
    Capabilities,
    Followed,
    FsckFinding,
    Lease,
    LeaseKind,
    ObjectInfo,
    PresignedUpload,
    Quarantined,
    WriteMode,
)


class ObjectReader(Protocol):
    """Named immutable bytes. Absence is always ``ObjectNotFound``; a failing medium is a ``StorageError``,
    ``TransientStorageError`` when a later try may succeed."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def stat(self, key: str) -> ObjectInfo:
        """Size and time of ``key``."""
        ...

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        """All bytes; ``LimitExceeded`` when there are more than ``size_max``."""
        ...

    def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        """The bytes piece by piece; a range beyond the end yields what there is."""
        ...

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        """``key``, the key that ``next_key`` finds in its bytes, and so on: at most ``count_max`` pairs.

        What ``next_key`` raises passes through. A store that can, does it in one hop: walking a chain block by block
        would cost a hop each.
        """
        ...

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Every visible key under ``prefix`` in no order; nothing that is quarantined or being written.

        ``UnsupportedOperation`` where ``capabilities.listable`` is false.
        """
        ...

    def local_path(self, key: str) -> Path | None:
        """The file behind ``key`` for the kernel to send, or ``None``; says nothing about existence."""
        ...


class LeaseStore(Protocol):
    """Notes about who publishes and who deletes, seen by every process over the same store (``storage/leases.py``).

    A note stands until it is withdrawn or its holder has died; when in doubt it stands.
    """

    async def place(self, kind: LeaseKind, contents: bytes) -> Lease:
        """A new note: every ``standing`` that begins after the return tells it."""
        ...

    async def withdraw(self, lease: Lease) -> None:
        """Take a note back; never fails, at worst the note stands until its holder has died."""
        ...

    async def standing(self) -> list[Lease]:
        """Every note that stands, whoever placed it."""
        ...

    async def confirm(self) -> None:
        """Return if the notes placed here stand still: asked before each deed that relies on them.

        ``TransientStorageError`` when others may have taken their holder for dead.
        """
        ...


class ObjectStore(ObjectReader, Protocol):
    """Writing. A returned write survives a power cut. Readers see a key absent or whole, never in part.

    ``StorageFull`` is permanent and leaves nothing behind. A read-only store raises ``UnsupportedOperation``.
    """

    @property
    def leases(self) -> LeaseStore:
        """Where its users agree on what may be deleted."""
        ...

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        """Write a small object; the caller has checked its hash.

        ``KEEP`` leaves a stored ``info/`` file alone. Under a key that is a hash it leaves equal bytes alone, and
        replaces different ones: those are damage, for the new bytes are the ones that were checked.
        """
        ...

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        """Write many small objects (``KEEP``), durably as a whole but not atomically: one flush for all."""
        ...

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        """Take in bytes, hashing them as they pass; durable on return.

        ``LimitExceeded`` beyond ``size_max``. Whatever ``pieces`` raises passes through, and nothing stays behind.
        """
        ...

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        """Make quarantined bytes visible as ``key``. The caller compared the hash.

        What is stored there already is the same, or damaged: it is replaced, atomically for readers.
        ``ObjectNotFound`` when nothing is quarantined under that token (any more).
        """
        ...

    async def discard(self, quarantined: Quarantined) -> None:
        """Forget quarantined bytes; unknown ones are no error."""
        ...

    async def expire_quarantine(self, *, before: float, dry_run: bool = False) -> list[ObjectInfo]:
        """Forget what arrived, or began to, and was not touched since ``before`` (seconds as the store counts them).

        Told under the names the store has for it. Resumable uploads have a lease of their own and are left alone.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove ``key``; absent is no error."""
        ...


class PresigningStore(ObjectStore, Protocol):
    """A store that signs addresses; ``capabilities.presigned`` tells which do."""

    async def sign_downloads(self, keys: Sequence[str], *, lifetime_s: int) -> list[str]:
        """Addresses to read these keys at, good for so many seconds; says nothing about existence."""
        ...

    async def sign_uploads(self, sizes: Sequence[int], *, lifetime_s: int) -> list[PresignedUpload]:
        """Addresses to put objects of these sizes to; what is put there is visible under no key."""
        ...

    async def examine(self, upload: PresignedUpload) -> Quarantined:
        """Read back and hash what was uploaded; ``publish`` then takes these bytes and no later ones.

        ``ObjectNotFound`` when nothing was, ``SizeMismatch`` when it has another size.
        """
        ...


class RefStore(Protocol):
    """Named pointers to blocks. The only mutable thing of a dataset."""

    async def read(self, name: str) -> Multihash | None:
        """Where ``name`` points, or ``None``. Malformed contents are ``MalformedIdentifier``."""
        ...

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        """Move ``name`` from ``expected`` to ``new`` (``None`` = absent) or raise ``RefConflict`` with both heads.

        Atomic against every other process on the same store; durable on return. Of any number of concurrent calls with
        the same ``expected`` exactly one succeeds.
        """
        ...

    async def list(self) -> dict[str, Multihash]:
        """All names and where they point."""
        ...


@runtime_checkable
class NamingRefStore(Protocol):
    """A RefStore that knows its refs even when they are damaged."""

    async def names(self) -> Sequence[str]:
        """The names of all refs, whatever they hold."""
        ...


@runtime_checkable
class Inspected(Protocol):
    """A place that others may write to behind our back: an ObjectStore, or a repository."""

    async def strays(self) -> Sequence[FsckFinding]:
        """What lies there and is none of its keys, and what interrupted changes left."""
        ...


class DerivedStore(Protocol):
    """Bytes that were made from what is stored and can be made again: kept while there is room, never relied upon.

    Names say what the bytes were made from, so they are immutable too. Nothing here fails: what cannot be read, is
    damaged or was never kept is simply not there.
    """

    async def read(self, name: str) -> bytes | None:
        """What was kept as ``name``, byte for byte, or ``None``."""
        ...

    async def keep(self, name: str, data: bytes) -> None:
        """Keep ``data`` if there is room; what was not used for longest goes."""
        ...
