"""Why a sweep never takes what somebody is about to publish: notes that every process over the same store sees.

Whoever is going to make objects reachable first places a *pin* that names them, then waits for the sweeps that were
under way before, and only then asks what is stored. Whoever deletes first places a *sweep*, then reads the pins, then
the refs, and deletes what neither names. Of two notes placed at the same time at least one is seen by the other side,
so nothing is ever deleted behind the back of a publisher. No clock takes part; see docs/adr/0005.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from opendatafabric.errors import TransientStorageError
from opendatafabric.limits import LOCK_WAIT_S_MAX
from opendatafabric.multihash import Multihash
from storage.keys import ADDRESSED_FOLDERS
from storage.protocols import LeaseStore
from storage.values import Lease, LeaseKind

T = TypeVar("T")

_ANNOUNCED = {LeaseKind.SWEEP: "a garbage collection", LeaseKind.MOVE: "those who move the head"}
_POLL_S = (0.001, 0.1)
_HASH_PREFIX_CHARS = len("f1620")


def fingerprint(key: str) -> int:
    """64 bits that stand for the key of an addressed object. Two keys that share one are merely both kept."""
    folder, _, name = key.partition("/")
    prefix = int(name[_HASH_PREFIX_CHARS : _HASH_PREFIX_CHARS + 16], 16)
    return (prefix & ~3) | ADDRESSED_FOLDERS.index(folder)


def packed_pins(keys: Iterable[str]) -> bytes:
    """What a pin for ``keys`` says."""
    pins = sorted({fingerprint(key) for key in keys})
    return struct.pack(f">{len(pins)}Q", *pins)


def pins_in(lease: Lease) -> frozenset[int]:
    """The fingerprints of a pin."""
    return frozenset(struct.unpack(f">{len(lease.contents) // 8}Q", lease.contents))


@asynccontextmanager
async def pinned(leases: LeaseStore, keys: Iterable[str]) -> AsyncIterator[None]:
    """Inside, no sweep takes ``keys``: what is found stored stays, what is stored stays.

    Raises:
        TransientStorageError: a sweep that was under way did not end.
        StorageError: the note cannot be placed.
    """
    contents = await asyncio.to_thread(packed_pins, keys)
    async with _placed(leases, LeaseKind.PIN, contents):
        await outwait(leases, LeaseKind.SWEEP)
        yield


@asynccontextmanager
async def held_head(leases: LeaseStore, head: Multihash) -> AsyncIterator[None]:
    """Inside, no sweep takes what ``head`` leads to, if a ref still points to it once inside; errors as ``pinned``."""
    async with _placed(leases, LeaseKind.HEAD, str(head).encode()):
        await outwait(leases, LeaseKind.SWEEP)
        yield


@asynccontextmanager
async def moving(leases: LeaseStore) -> AsyncIterator[None]:
    """Inside, whoever changes the policy of the dataset waits: what is read of it here holds until the head moved."""
    async with _placed(leases, LeaseKind.MOVE, b""):
        yield


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep may not take besides what the refs lead to, when they are read from now on."""

    placed_at: float
    pins: frozenset[int]
    heads: tuple[Multihash, ...]


@asynccontextmanager
async def sweeping(leases: LeaseStore) -> AsyncIterator[Sweep]:
    """Inside, what neither a lease nor a ref names may be deleted."""
    async with _placed(leases, LeaseKind.SWEEP, b"") as lease:
        standing = await leases.standing()
        pins = [pins_in(each) for each in standing if each.kind is LeaseKind.PIN]
        heads = (Multihash.from_text(each.contents.decode()) for each in standing if each.kind is LeaseKind.HEAD)
        yield Sweep(lease.placed_at, frozenset[int]().union(*pins), tuple(heads))


@asynccontextmanager
async def _placed(leases: LeaseStore, kind: LeaseKind, contents: bytes) -> AsyncIterator[Lease]:
    placing = asyncio.ensure_future(leases.place(kind, contents))
    try:
        yield await asyncio.shield(placing)
    finally:
        await to_its_end(_taken_back(leases, placing))


async def _taken_back(leases: LeaseStore, placing: asyncio.Future[Lease]) -> None:
    # Whoever was cancelled while placing has a note all the same. An error of placing was told already.
    await asyncio.wait({placing})
    if not placing.cancelled() and placing.exception() is None:
        await leases.withdraw(placing.result())


async def to_its_end(deed: Awaitable[T]) -> T:
    """Await ``deed``; when cancelled, wait for its end: no note may be withdrawn while a thread still acts."""
    task = asyncio.ensure_future(deed)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def outwait(leases: LeaseStore, kind: LeaseKind) -> None:
    """Wait for the end of what was announced before; what is announced later sees what the caller has written.

    Raises:
        TransientStorageError: it did not end.
    """
    before = await _tokens(leases, kind)
    pause, pause_max = _POLL_S
    waited_s = 0.0
    while before and waited_s < LOCK_WAIT_S_MAX:
        await asyncio.sleep(pause)
        waited_s += pause
        pause = min(pause * 2, pause_max)
        before &= await _tokens(leases, kind)
    if before:
        raise TransientStorageError(f"{_ANNOUNCED[kind]} did not pause for {LOCK_WAIT_S_MAX} s", hint="repeat")


async def _tokens(leases: LeaseStore, kind: LeaseKind) -> set[str]:
    return {lease.token for lease in await leases.standing() if lease.kind is kind}
