"""The small values that stores take and give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opendatafabric.multihash import Multihash

Followed = list[tuple[str, bytes]]
"""Keys and their bytes in the order they were followed."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One stored key; ``size`` in bytes, ``modified_at`` in seconds since 1970 as the store counts them."""

    key: str
    size: int
    modified_at: float


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``start`` (inclusive) to ``end`` (exclusive; ``None`` = to the end)."""

    start: int
    end: int | None = None


class WriteMode(Enum):
    """What to do when the key exists already."""

    CREATE = "create"
    """Fail with ``Conflict``."""
    KEEP = "keep"
    """Leave the stored bytes alone and succeed: right for content-addressed keys."""
    REPLACE = "replace"
    """Replace atomically: readers see the old or the new bytes whole."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Bytes that arrived whole and were hashed on the way, visible under no key yet."""

    token: str
    hash: Multihash
    size: int


class LeaseKind(Enum):
    """What the holder of a lease is about to do."""

    PIN = "pin"
    """Make objects reachable; says which."""
    HEAD = "head"
    """Read a chain; says its head."""
    SWEEP = "sweep"
    """Delete what nobody needs."""
    MOVE = "move"
    """Move a head, by the policy that was read once the note stood."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A note of a living holder; ``placed_at`` in seconds since 1970 as the store counts them."""

    token: str
    kind: LeaseKind
    contents: bytes
    placed_at: float


@dataclass(frozen=True, slots=True)
class PresignedUpload:
    """An address to upload ``size`` bytes to, which then wait in quarantine under ``token``."""

    token: str
    url: str
    size: int


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store can do by its nature."""

    writable: bool
    listable: bool
    sendfile: bool = False
    """``local_path`` names a file that the kernel can send."""
    presigned: bool = False
    """It can sign addresses that are good without a server in between: see ``PresigningStore``."""


@dataclass(frozen=True, slots=True)
class FsckFinding:
    """One thing wrong at ``key`` (of the dataset in the folder ``place``): what it is, and what to do about it."""

    code: str
    key: str
    message: str
    remedy: str
    place: str = ""

    def as_dict(self) -> dict[str, str]:
        """Plain JSON values."""
        return {name: getattr(self, name) for name in ("place", "key", "code", "message", "remedy")}
