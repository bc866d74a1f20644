"""The serving end of a push at the moment its head moves."""

from __future__ import annotations

import asyncio

import pytest

from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from sync.smart.channels import memory_pair
from sync.smart.serve import serve_push
from sync.smart.wire import write_message
from tests.storage.chains import chain
from tests.sync.scenarios.talk import whole_push
from tests.sync.smart_server import SmartServer


class HeldRefs(MemoryRefStore):
    """Says when a head is about to move, and waits to be let go."""

    def __init__(self) -> None:
        super().__init__()
        self.about_to_move, self.let_go = asyncio.Event(), asyncio.Event()

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        self.about_to_move.set()
        await self.let_go.wait()
        await super().compare_and_swap(name, expected=expected, new=new)


async def test_a_head_that_moved_is_written_down_though_the_client_vanished() -> None:
    refs, pushed = HeldRefs(), chain(["one", "two"])
    dataset = Dataset(MemoryObjectStore(), refs)
    server = SmartServer(dataset, address="http://127.0.0.1/")
    moves: asyncio.Queue[tuple[Multihash | None, Multihash]] = asyncio.Queue()

    async def note(expected_head: Multihash | None, new_head: Multihash) -> None:
        assert await dataset.head() == new_head
        moves.put_nowait((expected_head, new_head))

    here, there = memory_pair()
    served = asyncio.create_task(serve_push(there, server, server, on_head_moved=note))
    for message in whole_push(pushed.blocks):
        await here.send(write_message(message))
    async with asyncio.timeout(60):
        await refs.about_to_move.wait()
        served.cancel()
        with pytest.raises(asyncio.CancelledError):
            await served
        refs.let_go.set()
        assert await moves.get() == (None, pushed.head)
