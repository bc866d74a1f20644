"""A push said word by word to our server, for clients that do what ours never would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.codec.block_pack import pack_blocks
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from sync.plan import plan_transfer
from sync.smart.channels import ChannelClosed, MemoryChannel, memory_pair
from sync.smart.messages import (
    Message,
    MetadataBlocksBatch,
    ObjectFileReference,
    Progress,
    PushComplete,
    PushMetadata,
    PushObjectsRequest,
    PushRequest,
    WirePlan,
)
from sync.smart.push import PushOutcome
from sync.smart.serve import serve_push
from sync.smart.wire import write_message
from tests.sync.smart_server import SmartServer

OK = '{"Ok":{}}'


@dataclass
class Talk:
    """The client's end and what becomes of the server's."""

    channel: MemoryChannel
    served: asyncio.Task[PushOutcome]

    async def say(self, *messages: Message | str) -> None:
        for message in messages:
            await self.channel.send(message if isinstance(message, str) else write_message(message))

    async def hear(self) -> str:
        return await asyncio.wait_for(self.channel.receive(), 5)

    async def refused(self) -> PushOutcome:
        """The outcome, after everything that the server still says; it has to close."""
        try:
            while True:
                await self.hear()
        except ChannelClosed:
            return await asyncio.wait_for(self.served, 60)


@asynccontextmanager
async def pushing(dataset: Dataset) -> AsyncIterator[Talk]:
    """A push to ``dataset``."""
    server = SmartServer(dataset, address="http://127.0.0.1/")
    here, there = memory_pair()
    served = asyncio.create_task(serve_push(there, server, server))
    try:
        yield Talk(here, served)
    finally:
        served.cancel()
        await asyncio.gather(served, return_exceptions=True)


def opening(
    blocks: Sequence[HashedBlock], *, head: Multihash | None = None, num_blocks: int | None = None, force: bool = False
) -> PushRequest:
    plan = WirePlan.of(plan_transfer(blocks))
    if num_blocks is not None:
        plan = plan.model_copy(update={"num_blocks": num_blocks})
    return PushRequest(
        current_head=head,
        transfer_plan=plan,
        force_update_if_diverged=force,
        visibility_for_created_dataset="Private",
    )


def packed(blocks: Sequence[HashedBlock], *, num_blocks: int | None = None) -> PushMetadata:
    count = len(blocks) if num_blocks is None else num_blocks
    payload = pack_blocks((block.hash, block.raw) for block in blocks)
    return PushMetadata(new_blocks=MetadataBlocksBatch(num_blocks=count, payload=payload))


def asking(files: Sequence[ObjectFile], *, is_truncated: bool = False) -> PushObjectsRequest:
    references = tuple(ObjectFileReference.of(file) for file in files)
    return PushObjectsRequest(object_files=references, is_truncated=is_truncated)


def files_of(blocks: Sequence[HashedBlock]) -> list[ObjectFile]:
    return [file for block in blocks for file in objects_of(block)]


def whole_push(blocks: Sequence[HashedBlock], *, head: Multihash | None = None) -> list[Message]:
    """Everything a client says."""
    files = files_of(blocks)
    return [opening(blocks, head=head), packed(blocks), asking(files), Progress(details="Complete"), PushComplete()]
