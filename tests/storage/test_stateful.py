"""Random deeds on a folder and on the model in memory: both answer the same, and end up the same."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from opendatafabric.errors import OdfError
from opendatafabric.layout import checkpoint_key, data_key
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.protocols import ObjectStore, RefStore
from storage.values import ByteRange, Quarantined, WriteMode
from tests.suites.object_store import pieces_of, read_all

CONTENTS = [b"", b"a", b"bc", b"d" * 5_000]
KEYS = [*(data_key(physical_hash(content)) for content in CONTENTS), checkpoint_key(physical_hash(b"a")), "info/alias"]
HEADS = [None, *(physical_hash(content) for content in CONTENTS)]

keys, contents, heads = st.sampled_from(KEYS), st.sampled_from(CONTENTS), st.sampled_from(HEADS)
names = st.sampled_from(["head", "staging", "Bad Name"])
Stores = tuple[ObjectStore, RefStore]


class StoresAgree(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        self.model: Stores = (MemoryObjectStore(), MemoryRefStore())
        self.local: Stores = (LocalObjectStore(root), LocalRefStore(root))
        self.quarantined: list[tuple[Quarantined, Quarantined]] = []
        self.loop = asyncio.new_event_loop()

    def teardown(self) -> None:
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    def both(self, deed: Callable[[ObjectStore, RefStore], Awaitable[Any]]) -> tuple[Any, Any]:
        return self.outcome(deed, self.model), self.outcome(deed, self.local)

    def outcome(self, deed: Callable[[ObjectStore, RefStore], Awaitable[Any]], stores: Stores) -> Any:
        async def run() -> Any:
            try:
                return await deed(*stores)
            except OdfError as error:
                return type(error), error.expected, error.found

        return self.loop.run_until_complete(run())

    def agree(self, deed: Callable[[ObjectStore, RefStore], Awaitable[Any]]) -> None:
        expected, found = self.both(deed)
        assert found == expected

    @rule(key=keys, data=contents, mode=st.sampled_from(WriteMode))
    def put(self, key: str, data: bytes, mode: WriteMode) -> None:
        self.agree(lambda objects, _: objects.put(key, data, mode))

    @rule(objects_to_put=st.dictionaries(keys, contents, max_size=6))
    def put_many(self, objects_to_put: dict[str, bytes]) -> None:
        self.agree(lambda objects, _: objects.put_many(objects_to_put))

    @rule(key=keys)
    def delete(self, key: str) -> None:
        self.agree(lambda objects, _: objects.delete(key))

    @rule(key=keys, size_max=st.sampled_from([0, 1, 100_000]))
    def read(self, key: str, size_max: int) -> None:
        self.agree(lambda objects, _: objects.read(key, size_max=size_max))

    @rule(key=keys, start=st.integers(0, 5), length=st.none() | st.integers(0, 5_001))
    def read_range(self, key: str, start: int, length: int | None) -> None:
        byte_range = ByteRange(start, None if length is None else start + length)
        self.agree(lambda objects, _: read_all(objects, key, byte_range))

    @rule(key=keys)
    def stat(self, key: str) -> None:
        async def size(objects: ObjectStore, _: RefStore) -> int:
            return (await objects.stat(key)).size

        self.agree(size)

    @rule(data=contents)
    def quarantine(self, data: bytes) -> None:
        expected, found = self.both(lambda objects, _: objects.quarantine(pieces_of(data), size_max=100_000))
        assert (expected.hash, expected.size) == (found.hash, found.size)
        self.quarantined.append((expected, found))

    @rule(number=st.integers(0, 3), key=keys, publish=st.booleans())
    def settle(self, number: int, key: str, publish: bool) -> None:
        if number >= len(self.quarantined):
            return
        outcomes = []
        for (objects, _), quarantined in zip((self.model, self.local), self.quarantined[number], strict=True):
            deed = objects.publish(quarantined, key) if publish else objects.discard(quarantined)
            outcomes.append(self.outcome(lambda *_, deed=deed: deed, (objects, MemoryRefStore())))
        assert outcomes[0] == outcomes[1]

    @rule(name=names, expected=heads, new=heads)
    def swap(self, name: str, expected: Any, new: Any) -> None:
        self.agree(lambda _, refs: refs.compare_and_swap(name, expected=expected, new=new))

    @rule(name=names, new=heads)
    def swap_from_what_is(self, name: str, new: Any) -> None:
        async def swap(_: ObjectStore, refs: RefStore) -> None:
            await refs.compare_and_swap(name, expected=await refs.read(name), new=new)

        self.agree(swap)

    @invariant()
    def the_same_is_stored(self) -> None:
        async def everything(objects: ObjectStore, refs: RefStore) -> Any:
            stored = {info.key: await objects.read(info.key) async for info in objects.list()}
            return stored, await refs.list()

        self.agree(everything)


TestStoresAgree = StoresAgree.TestCase
TestStoresAgree.settings = settings(stateful_step_count=20)
