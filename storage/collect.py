"""Garbage collection of one dataset while it is in use: mark from every ref, sweep what no ref and no lease names.

Nothing is deleted on the word of the mark alone. A sweep announces itself, reads the leases, then the refs again, and
deletes for a moment what is still unnamed; ``storage/leases.py`` says why that takes nothing from a publisher. Young
objects stay for a grace period, by the time of the store, so that an interrupted push need not send them again; that
saves work and is no part of what makes it safe. A damaged chain is not collected: nobody knows what it names.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from opendatafabric.errors import HashMismatch, MalformedInput, NotFound, ObjectNotFound, OdfError, StorageError
from opendatafabric.layout import BLOCKS
from opendatafabric.limits import LEFTOVER_GRACE_S_MIN, OBJECT_CHECKS_AT_ONCE, SWEEP_HOLD_S_MAX
from opendatafabric.metadata.events import UnknownEvent
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.held_chain import keys_named_by
from storage.keys import ADDRESSED_FOLDERS
from storage.leases import Sweep, fingerprint, sweeping, to_its_end
from storage.protocols import ObjectStore
from storage.values import ObjectInfo

QUARANTINE: Final = "quarantine"
"""The kind of what arrived and was never published."""

_WALKS_MAX: Final = 10


@dataclass(slots=True)
class Amount:
    """Files and the bytes in them."""

    count: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        self.count += 1
        self.bytes += size

    def as_dict(self) -> dict[str, int]:
        return {"count": self.count, "bytes": self.bytes}


def _nothing() -> dict[str, Amount]:
    return {kind: Amount() for kind in (*ADDRESSED_FOLDERS, QUARANTINE)}


@dataclass(slots=True)
class Collected:
    """What a collection freed by kind (the folders of the layout, and ``quarantine``), and what it left."""

    freed: dict[str, Amount] = field(default_factory=_nothing)
    kept: Amount = field(default_factory=Amount)
    """No ref leads there, but it is young, or held by a transfer."""
    refused: OdfError | None = None
    """Why nothing was collected: the chain is damaged."""

    @property
    def freed_bytes(self) -> int:
        return sum(amount.bytes for amount in self.freed.values())

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        refused = {} if self.refused is None else {"refused": self.refused.as_dict()}
        freed = {kind: amount.as_dict() for kind, amount in self.freed.items()}
        return {"freed": freed, "kept": self.kept.as_dict(), **refused}


async def collect(
    dataset: Dataset, *, grace_s: float, dry_run: bool = False, spared: Sequence[Multihash] = ()
) -> Collected:
    """Delete what no ref of ``dataset`` leads to and nobody holds, if it is older than ``grace_s``.

    What the heads ``spared`` lead to stays as well: those who read without a lease may be on their way there.

    Safe beside any number of pushes, pulls and other collections over the same store, in whatever process.

    Raises:
        UnsupportedOperation: the store can only be read.
        StorageError: the store failed; what was freed is freed, and it can be repeated.
    """
    store = dataset.writable_objects()
    collecting = _Collecting(store, Collected(), _Reached(), grace_s, dry_run)
    try:
        await collecting.reached.follow_held(dataset, spared)
        await collecting.reached.follow_refs(dataset)
        unreached = deque([info.key async for info in _addressed(store) if not collecting.reached.has(info.key)])
        await collecting.sweep(dataset, unreached)
        while unreached:
            await collecting.sweep(dataset, unreached)
    except StorageError:
        raise
    except OdfError as damage:
        collecting.collected.refused = damage
    return collecting.collected


async def _addressed(store: ObjectStore) -> AsyncIterator[ObjectInfo]:
    for folder in ADDRESSED_FOLDERS:
        async for info in store.list(f"{folder}/"):
            yield info


class _Reached:
    """What the refs lead to, and have led to since the collection began."""

    def __init__(self) -> None:
        self._fingerprints: set[int] = set()
        self._all_understood = True

    def has(self, key: str) -> bool:
        """Whether a ref leads to ``key``, or may do so by way of a block of a version that is not known here."""
        return fingerprint(key) in self._fingerprints or not (self._all_understood or key.startswith(f"{BLOCKS}/"))

    async def follow_refs(self, dataset: Dataset) -> None:
        """Add what the refs lead to now; whatever walking raises when a chain is damaged."""
        for walks_left in reversed(range(_WALKS_MAX)):
            heads = await dataset.refs.list()
            try:
                for head in heads.values():
                    await self._follow(dataset, head)
                return
            except OdfError:
                # A forced push may have taken the chain away under our feet, and another collection its blocks.
                if walks_left == 0 or await dataset.refs.list() == heads:
                    raise

    async def follow_held(self, dataset: Dataset, heads: Iterable[Multihash]) -> None:
        """Add what readers hold; a chain that cannot be read cannot be held."""
        for head in heads:
            with suppress(NotFound, HashMismatch, MalformedInput):
                await self._follow(dataset, head)

    async def _follow(self, dataset: Dataset, head: Multihash) -> None:
        met: set[int] = set()  # counts once the walk has come to its end: a known block stands for all before it
        async for batch in dataset.walk(head):
            for block in batch:
                own, *objects = map(fingerprint, keys_named_by(block))
                if own in self._fingerprints:
                    self._fingerprints |= met
                    return
                met.update((own, *objects))
                self._all_understood &= not (block.has_newer_fields or isinstance(block.event, UnknownEvent))
        self._fingerprints |= met


@dataclass(slots=True)
class _Collecting:
    store: ObjectStore
    collected: Collected
    reached: _Reached
    grace_s: float
    dry_run: bool

    async def sweep(self, dataset: Dataset, unreached: deque[str]) -> None:
        """Delete from the front of ``unreached``, for no longer than publishers may be made to wait."""
        await self.reached.follow_refs(dataset)  # most of the way, while nobody waits
        async with sweeping(self.store.leases) as sweep:
            await self.reached.follow_refs(dataset)
            await self.reached.follow_held(dataset, sweep.heads)
            if not self.collected.freed[QUARANTINE].count:
                await self._expire_quarantine(sweep)
            pause_at = time.monotonic() + SWEEP_HOLD_S_MAX
            while unreached and time.monotonic() < pause_at:
                some = [unreached.popleft() for _ in range(min(len(unreached), OBJECT_CHECKS_AT_ONCE))]
                await self._take_together(some, sweep)

    async def _take_together(self, keys: Sequence[str], sweep: Sweep) -> None:
        """Each to its end, whatever becomes of the others: the note may not be withdrawn while one is being deleted."""
        ended = await asyncio.gather(*(self._take(key, sweep) for key in keys), return_exceptions=True)
        for failure in ended:
            if failure is not None:
                raise failure

    async def _take(self, key: str, sweep: Sweep) -> None:
        if self.reached.has(key):
            return
        try:
            info = await self.store.stat(key)  # it may have arrived anew since it was listed
        except ObjectNotFound:
            return
        if fingerprint(key) in sweep.pins or info.modified_at > sweep.placed_at - self.grace_s:
            self.collected.kept.add(info.size)
            return
        if not self.dry_run:
            await self.store.leases.confirm()
            await to_its_end(self.store.delete(key))
        self.collected.freed[key.partition("/")[0]].add(info.size)

    async def _expire_quarantine(self, sweep: Sweep) -> None:
        before = sweep.placed_at - max(self.grace_s, LEFTOVER_GRACE_S_MIN)
        for info in await self.store.expire_quarantine(before=before, dry_run=self.dry_run):
            self.collected.freed[QUARANTINE].add(info.size)
