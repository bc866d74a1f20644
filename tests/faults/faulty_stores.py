"""Stores around stores that count every step and strike at one: with an error, with the end of the process, or with
wrong bytes. For tests of everything that must survive it.

    faults = Faults(strike_at=7, strike=unavailable)
    dataset = Dataset(FaultyObjectStore(objects, faults), FaultyRefStore(refs, faults))

Run once with ``Faults()`` to learn how many steps there are (``faults.steps``), then once for each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from opendatafabric.errors import StorageError, StorageFull, TransientStorageError
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.keys import split_key
from storage.protocols import ObjectStore, RefStore
from storage.reading import followed
from storage.values import ByteRange, Followed, ObjectInfo, Quarantined, WriteMode
from storage.wrappers.passing import PassingObjectStore, PassingRefStore

T = TypeVar("T")
Strike = Callable[[str], None]


def unavailable(step: str) -> None:
    raise TransientStorageError(f"injected at {step}")


def broken(step: str) -> None:
    raise StorageError(f"injected at {step}")


def full(step: str) -> None:
    raise StorageFull(f"injected at {step}")


@dataclass
class Faults:
    """Step number ``strike_at`` (from 1) is struck: before it takes effect, or ``after``; ``for_good`` from then on."""

    strike_at: int = 0
    strike: Strike = unavailable
    after: bool = False
    for_good: bool = False
    only: Collection[str] = ()
    """Names of the operations that count; all if empty."""
    steps: list[str] = field(default_factory=list)
    """What happened, as ``operation key``."""

    async def step(self, operation: str, subject: str, action: Callable[[], Awaitable[T]]) -> T:
        """One step of a store."""
        struck = self._strikes(operation, subject)
        if struck and not self.after:
            self.strike(self.steps[-1])
        result = await action()
        if struck and self.after:
            self.strike(self.steps[-1])
        return result

    def _strikes(self, operation: str, subject: str) -> bool:
        if self.only and operation not in self.only:
            return False
        self.steps.append(f"{operation} {subject}")
        number = len(self.steps)
        return number == self.strike_at or (self.for_good and 0 < self.strike_at <= number)


class FaultyObjectStore(PassingObjectStore):
    """``inner`` with ``faults``; ``spoiled`` keys are read with one bit flipped. Each piece of a stream is a step."""

    def __init__(self, inner: ObjectStore, faults: Faults, spoiled: Collection[str] = ()) -> None:
        super().__init__(inner)
        self._faults = faults
        self._spoiled = spoiled

    async def stat(self, key: str) -> ObjectInfo:
        return await self._faults.step("stat", key, lambda: self.inner.stat(key))

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        data = await self._faults.step("read", key, lambda: self.inner.read(key, size_max=size_max))
        return self._as_read(key, data)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        async for piece in self._stepwise("stream", key, self.inner.stream(key, byte_range)):
            yield self._as_read(key, piece)

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        await self._faults.step("list", prefix, _nothing)
        async for info in self.inner.list(prefix):
            yield info

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        await self._faults.step("put", key, lambda: self.inner.put(key, data, mode))

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        """Not atomic, so a step for each."""
        for key in objects:
            split_key(key)
        for key, data in objects.items():
            await self._faults.step("put_many", key, lambda one={key: data}: self.inner.put_many(one))  # type: ignore[misc]

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        arriving = self._stepwise("arrive", "piece", pieces)
        return await self._faults.step(
            "quarantine", "object", lambda: self.inner.quarantine(arriving, size_max=size_max)
        )

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        await self._faults.step("publish", key, lambda: self.inner.publish(quarantined, key))

    async def discard(self, quarantined: Quarantined) -> None:
        await self._faults.step("discard", "object", lambda: self.inner.discard(quarantined))

    async def delete(self, key: str) -> None:
        await self._faults.step("delete", key, lambda: self.inner.delete(key))

    async def _stepwise(self, operation: str, key: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            await self._faults.step(operation, key, _nothing)
            yield piece

    def _as_read(self, key: str, data: bytes) -> bytes:
        return bytes([data[0] ^ 1]) + data[1:] if key in self._spoiled and data else data


class FaultyRefStore(PassingRefStore):
    """``inner`` with ``faults``."""

    def __init__(self, inner: RefStore, faults: Faults) -> None:
        super().__init__(inner)
        self._faults = faults

    async def read(self, name: str) -> Multihash | None:
        return await self._faults.step("read_ref", name, lambda: self.inner.read(name))

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        await self._faults.step(
            "compare_and_swap", name, lambda: self.inner.compare_and_swap(name, expected=expected, new=new)
        )

    async def list(self) -> dict[str, Multihash]:
        return await self._faults.step("list_refs", "", self.inner.list)


async def _nothing() -> None:
    pass
