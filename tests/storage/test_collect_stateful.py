"""Pushes, forced pushes, aborted and failing ones, and collections, interleaved at every call of the store.

After every single call each ref leads to a whole chain with all its objects; in the end nothing but that is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.errors import OdfError
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import Multihash
from storage import leases
from storage.collect import collect
from storage.dataset import Dataset
from tests.storage.chains import ChainBuilder
from tests.storage.gates import Gates, gated_stores
from tests.suites.object_store import pieces_of


def files_of(builder: ChainBuilder) -> list[ObjectFile]:
    return [file for block in builder.blocks for file in objects_of(block)]


def keys_of(builder: ChainBuilder) -> dict[str, bytes]:
    """Everything that a chain needs."""
    blocks = {block_key(block.hash): block.raw for block in builder.blocks}
    return {**blocks, **{data_key(name): content for name, content in builder.slices.items()}}


class Collecting(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.polling = pytest.MonkeyPatch()
        self.polling.setattr(leases, "_POLL_S", (0, 0))
        self.loop = asyncio.new_event_loop()
        self.gates = self.loop.run_until_complete(self._make_gates())
        self.objects, self.refs = self.make_stores()
        self.chains: list[ChainBuilder] = [ChainBuilder()]
        self.by_head: dict[Multihash, ChainBuilder] = {self.chains[0].head: self.chains[0]}

    async def _make_gates(self) -> Gates:
        return Gates()

    # --- where it plays

    def make_stores(self) -> tuple[Any, Any]:
        return gated_stores(self.gates)

    def heads(self) -> Iterable[Multihash]:
        """Where the refs point, past the gates."""
        heads: dict[str, Multihash] = self.refs.heads
        return heads.values()

    def stored(self) -> Mapping[str, bytes]:
        """What lies there, past the gates."""
        objects: dict[str, bytes] = self.objects.objects
        return objects

    def notes(self) -> Collection[object]:
        """Which leases stand."""
        notes: dict[str, object] = self.objects.leases.notes
        return notes

    def dataset(self) -> Dataset:
        return Dataset(self.objects, self.refs)

    def begin(self, deed: object) -> None:
        async def run() -> None:
            self.gates.begin(deed)  # type: ignore[arg-type]
            await self.gates.settle()

        self.loop.run_until_complete(run())

    # --- actors

    async def push(self, builder: ChainBuilder, *, holding: bool) -> None:
        with suppress(OdfError):
            dataset = self.dataset()
            head = await dataset.head()
            shared = self.shared_blocks(builder, head)
            if holding:
                async with dataset.held(files_of(builder)):
                    await self.upload(dataset, builder)
                    await dataset.append(builder.blocks[shared:], expected_head=head, force=True)
            else:
                await self.upload(dataset, builder)
                await dataset.append(builder.blocks[shared:], expected_head=head, force=True)

    def shared_blocks(self, builder: ChainBuilder, head: Multihash | None) -> int:
        if head is None:
            return 0
        there = {block.hash for block in self.by_head[head].blocks}
        return min(sum(block.hash in there for block in builder.blocks), len(builder.blocks) - 1)

    async def upload(self, dataset: Dataset, builder: ChainBuilder) -> None:
        for file in await dataset.missing_objects(files_of(builder)):
            content = builder.slices[file.physical_hash]
            quarantined = await self.objects.quarantine(pieces_of(content), size_max=100)
            await self.objects.publish(quarantined, data_key(file.physical_hash))

    async def collect(self) -> None:
        with suppress(OdfError):
            collected = await collect(self.dataset(), grace_s=0)
            assert collected.refused is None, collected.refused

    # --- rules

    @rule(of=st.integers(0, 9), length=st.integers(1, 9), data=st.booleans(), holding=st.booleans())
    def push_a_fork(self, of: int, length: int, data: bool, holding: bool) -> None:
        """Append to a chain or replace its end; contents repeat, so that garbage comes to life again."""
        parent = self.chains[of % len(self.chains)]
        builder = parent.fork(min(length, len(parent.blocks)))
        builder.slices = {
            name: content
            for name, content in parent.slices.items()
            if any(file.physical_hash == name for file in files_of(builder))
        }
        if data:
            builder.data(b"slice %d" % (length % 3))
        else:
            builder.info(f"info {length % 3}")
        self.chains.append(builder)
        self.by_head[builder.head] = builder
        self.begin(self.push(builder, holding=holding))

    @rule(of=st.integers(0, 9))
    def push_again(self, of: int) -> None:
        self.begin(self.push(self.chains[of % len(self.chains)], holding=True))

    @rule()
    def begin_collection(self) -> None:
        self.begin(self.collect())

    @precondition(lambda self: self.gates.waiting)
    @rule(numbers=st.lists(st.integers(0, 20), min_size=1, max_size=40))
    def go_on(self, numbers: list[int]) -> None:
        for number in numbers:
            if self.gates.waiting:
                self.let(number)

    @precondition(lambda self: self.gates.waiting)
    @rule(number=st.integers(0, 20), steps=st.integers(1, 60))
    def go_on_with_one(self, number: int, steps: int) -> None:
        actor = self.gates.waiting[number % len(self.gates.waiting)].actor
        for _ in range(steps):
            own = [place for place, gate in enumerate(self.gates.waiting) if gate.actor == actor]
            if own:
                self.let(own[0])

    @precondition(lambda self: self.gates.waiting)
    @rule(number=st.integers(0, 20))
    def fail(self, number: int) -> None:
        can_fail = "withdraw" not in self.gates.waiting[number % len(self.gates.waiting)].call
        self.let(number, fail=can_fail)

    @precondition(lambda self: self.gates.waiting)
    @rule(number=st.integers(0, 20))
    def abort(self, number: int) -> None:
        actor = self.gates.waiting[number % len(self.gates.waiting)].actor
        self.gates.actors[actor].cancel()
        self.loop.run_until_complete(self.gates.settle())

    def let(self, number: int, *, fail: bool = False) -> None:
        async def go() -> None:
            self.gates.let(number, fail=fail)
            await self.gates.settle()

        self.loop.run_until_complete(go())
        self.everything_published_is_there()

    @invariant()
    def everything_published_is_there(self) -> None:
        stored = self.stored()
        for head in self.heads():
            needed = keys_of(self.by_head[head])
            assert {key: stored.get(key) for key in needed} == needed

    def teardown(self) -> None:
        while self.gates.waiting:
            self.let(0)
        for task in self.gates.actors.values():
            if not task.cancelled():
                task.result()
        self.loop.run_until_complete(collect(self.dataset(), grace_s=-1))
        reachable = {key for head in self.heads() for key in keys_of(self.by_head[head])}
        assert set(self.stored()) == reachable
        assert not self.notes()
        self.polling.undo()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


TestCollecting = Collecting.TestCase
TestCollecting.settings = settings(stateful_step_count=30)
