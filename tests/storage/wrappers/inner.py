"""The stores that wrappers are put around in tests, and how to reach them behind the wrapper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.protocols import ObjectReader, ObjectStore, RefStore
from storage.wrappers.passing import PassingObjectStore

INNER: dict[str, Callable[[Path], tuple[ObjectStore, RefStore]]] = {
    "memory": lambda _: (MemoryObjectStore(), MemoryRefStore()),
    "local": lambda folder: (LocalObjectStore(folder), LocalRefStore(folder)),
}


def plant_inside(store: ObjectReader, key: str, data: bytes) -> None:
    """Put ``data`` into the innermost store, behind every wrapper's back."""
    while isinstance(store, PassingObjectStore):
        store = store.inner
    if isinstance(store, MemoryObjectStore):
        store.objects[key] = data
        return
    assert isinstance(store, LocalObjectStore)
    path = store.root / key
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


class Clock:
    """A clock that goes on when somebody sleeps, and nobody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
