"""The chain of the audit log: every entry holds the hash of the one before it.

The hash covers number, time, action, subject and details of an entry as canonical JSON, and the hash before. So an
entry that was changed, taken out, put in or moved is noticed, wherever the entries lie: in the catalog or in a file.
What was cut off at the end leaves no trace: keep a newest hash elsewhere to notice that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from opendatafabric.errors import MalformedInput
from opendatafabric.multihash import physical_hash

FIELDS: Final = ("id", "at", "action", "subject", "details", "previous", "hash")
_KINDS: Final = {"id": int, "at": float | int, "action": str, "subject": str, "details": dict} | dict.fromkeys(
    ("previous", "hash"), str
)


@dataclass(frozen=True, slots=True)
class ChainPlace:
    """An entry by number and hash."""

    id: int = 0
    hash: str = ""


BEGINNING: Final = ChainPlace()
"""What the first entry of all follows."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """``action`` was done to ``subject``; ``at`` in seconds since 1970, ``previous`` the hash of the entry before."""

    id: int
    at: float
    action: str
    subject: str
    details: Mapping[str, Any]
    previous: str
    hash: str

    @property
    def place(self) -> ChainPlace:
        return ChainPlace(self.id, self.hash)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: getattr(self, name) for name in FIELDS}


def entry_after(
    previous: ChainPlace, *, at: float, action: str, subject: str, details: Mapping[str, Any]
) -> AuditEntry:
    """The entry that says this and follows ``previous``."""
    unsealed = AuditEntry(previous.id + 1, at, action, subject, details, previous.hash, "")
    return AuditEntry(unsealed.id, at, action, subject, details, previous.hash, _hash_of(unsealed))


def entry_from_json(line: bytes) -> AuditEntry:
    """An entry as ``as_dict`` gave it.

    Raises:
        MalformedInput: it is none.
    """
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or set(told) != set(FIELDS):
        raise MalformedInput("this is no entry of an audit log", expected=f"JSON with {', '.join(FIELDS)}")
    if any(not isinstance(told[name], kind) or told[name] is True for name, kind in _KINDS.items()):
        raise MalformedInput("an entry of the audit log has a field of another kind")
    return AuditEntry(**{**told, "at": float(told["at"])})


def details_text(details: Mapping[str, Any]) -> str:
    """Details as they are stored and hashed."""
    return orjson.dumps(details, option=orjson.OPT_SORT_KEYS).decode()


class ChainCheck:
    """Walks a chain. ``broken_at`` is the number of the first entry that is not as it was written or does not follow.

    Without a ``start`` it begins wherever the entries do. ``known`` is an entry that was there once, noted elsewhere.
    """

    def __init__(self, start: ChainPlace | None = BEGINNING, *, known: ChainPlace | None = None) -> None:
        self.at = start
        self.count = 0
        self.broken_at: int | None = None
        self._known = known

    def walk(self, entries: Iterable[AuditEntry]) -> None:
        """Go on over these entries; behind a break nothing counts."""
        for entry in entries:
            if self.broken_at is None:
                self._step(entry)

    def finish(self) -> int | None:
        """All entries were walked: ``broken_at``, also when the known one should have come and did not."""
        end = 0 if self.at is None else self.at.id
        if self.broken_at is None and self._known is not None and self._known.id > end:
            self.broken_at = end + 1
        return self.broken_at

    def _step(self, entry: AuditEntry) -> None:
        expected = self.at or ChainPlace(entry.id - 1, entry.previous)
        follows = (entry.id, entry.previous) == (expected.id + 1, expected.hash) and entry.hash == _hash_of(entry)
        if not follows or (self._known is not None and entry.id == self._known.id and entry.place != self._known):
            self.broken_at = expected.id + 1
            return
        self.at = entry.place
        self.count += 1


def _hash_of(entry: AuditEntry) -> str:
    text = [entry.id, entry.at, entry.action, entry.subject, details_text(entry.details), entry.previous]
    return str(physical_hash(orjson.dumps(text)))
