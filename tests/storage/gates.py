"""Stores in memory whose every call waits until a test lets it happen: so any interleaving of actors can be played.

An actor is a task of the test; its calls, and those of tasks it begins, wait at gates. ``settle`` runs until all actors
wait or are done; ``let`` makes one waiting call happen, or fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from opendatafabric.errors import StorageError
from storage.memory import MemoryObjectStore, MemoryRefStore

_actor: ContextVar[int] = ContextVar("actor")


@dataclass(eq=False)
class Gate:
    actor: int
    call: str
    opened: asyncio.Future[None]


class Gates:
    def __init__(self) -> None:
        self.waiting: list[Gate] = []
        self.actors: dict[int, asyncio.Task[Any]] = {}
        self._changed = asyncio.Event()

    def begin(self, deed: Coroutine[Any, Any, Any]) -> None:
        """A new actor."""
        number = len(self.actors)

        async def run() -> Any:
            _actor.set(number)
            try:
                return await deed
            finally:
                self._changed.set()

        self.actors[number] = asyncio.get_running_loop().create_task(run())

    async def wait(self, call: str) -> None:
        """Called by the stores before each deed."""
        if _actor.get(None) is None:
            return  # the test itself
        gate = Gate(_actor.get(), call, asyncio.get_running_loop().create_future())
        self.waiting.append(gate)
        self._changed.set()
        try:
            await gate.opened
        finally:
            if gate in self.waiting:
                self.waiting.remove(gate)

    def let(self, number: int, *, fail: bool = False) -> None:
        gate = self.waiting.pop(number % len(self.waiting))
        if gate.opened.done():
            return  # cancelled meanwhile
        if fail:
            gate.opened.set_exception(StorageError(f"{gate.call} failed, as the test wanted"))
        else:
            gate.opened.set_result(None)

    async def settle(self) -> None:
        while True:
            for _ in range(5):
                await asyncio.sleep(0)
            at_gates = {gate.actor for gate in self.waiting}
            if all(task.done() or number in at_gates for number, task in self.actors.items()):
                return
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 10)


def gated(store: Any, gates: Gates, *methods: str) -> Any:
    """``store``, with these of its coroutine methods waiting."""
    for name in methods:
        setattr(store, name, _gated(getattr(store, name), f"{type(store).__name__}.{name}", gates))
    return store


def _gated(method: Any, call: str, gates: Gates) -> Any:
    async def waiting(*arguments: Any, **keywords: Any) -> Any:
        await gates.wait(call)
        return await method(*arguments, **keywords)

    return waiting


OBJECT_CALLS = (
    *("stat", "read", "follow", "put", "put_many", "quarantine", "publish", "discard", "delete"),
    "expire_quarantine",
)


def gated_stores(gates: Gates) -> tuple[MemoryObjectStore, MemoryRefStore]:
    """Stores in memory, with their leases."""
    return with_gates(MemoryObjectStore(), MemoryRefStore(), gates)


def with_gates(objects: Any, refs: Any, gates: Gates) -> tuple[Any, Any]:
    """These stores, with their leases."""
    objects.leases = gated(objects.leases, gates, "place", "withdraw", "standing")
    return gated(objects, gates, *OBJECT_CALLS), gated(refs, gates, "read", "compare_and_swap", "list")
