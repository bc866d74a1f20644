"""Reads chains for what a record was made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from opendatafabric.chain.state import ChainState
from opendatafabric.did import DatasetId
from opendatafabric.errors import NotFound, OdfError, RefNotFound
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform, SetTransform
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import Multihash
from pipeline.engine_records import MadeBy, maker_of
from pipeline.lineage.origin import InputRead, Origin, Written, inputs_read, sources_of, written_in
from storage.dataset import Dataset
from storage.repository import DatasetEntry

FindEntry = Callable[[DatasetId], Awaitable[DatasetEntry]]
"""Where inputs are; ``DatasetNotFound`` of those that are nowhere."""


async def read_origin(dataset: Dataset, offset: int, find: FindEntry) -> Origin:
    """Of the record at ``offset`` of ``dataset``, as far as it can be found out.

    Raises:
        NotFound: there is no such record.
        BlockNotFound, HashMismatch, MalformedBlock: the chain is damaged before the block that brought it.
    """
    written = await _written_by(dataset, offset)
    event = written.block.event
    try:
        state, problem = await dataset.chain_state(written.block.hash), None
    except OdfError as error:
        state, problem = ChainState.empty(), error.message
    origin = Origin(offset, written, problem=problem)
    if isinstance(event, AddData):
        return replace(origin, sources=sources_of(event, state))
    assert isinstance(event, ExecuteTransform)  # the other kind of block that brings records
    transform = state.transform if isinstance(state.transform, SetTransform) else None
    inputs = [await _found(each, find) for each in inputs_read(event, transform)]
    made_by = await _maker_of(dataset, written.block)
    return replace(origin, transform=transform, inputs=tuple(inputs), made_by=made_by)


async def _maker_of(dataset: Dataset, step: HashedBlock) -> MadeBy | None:
    """What cannot be read is as if nobody had noted it."""
    with suppress(OdfError):
        return await maker_of(dataset, step)
    return None


async def _written_by(dataset: Dataset, offset: int) -> Written:
    head = await dataset.head()
    if head is None:
        raise RefNotFound("the dataset has no head yet")
    async for block in _back_from(dataset, head):
        for written in written_in([block], OffsetInterval(offset, offset)):
            return written
    last = (await dataset.chain_state(head)).last_offset
    expected = "none, it has no records" if last is None else f"0 to {last}"
    raise NotFound("the dataset has no record of that offset", expected=expected, found=offset)


async def _back_from(dataset: Dataset, head: Multihash) -> AsyncIterator[HashedBlock]:
    """Blocks up to the first one that is damaged: a walk gives up the sound ones of its batch too."""
    following: Multihash | None = head
    with suppress(OdfError):
        async for blocks in dataset.walk(head):
            for block in blocks:
                yield block
            following = blocks[-1].block.prev_block_hash
    while following is not None:
        block = await dataset.read_block(following)
        yield block
        following = block.block.prev_block_hash


async def _found(read: InputRead, find: FindEntry) -> InputRead:
    """With its name and the blocks that brought what was read, or with what is in the way."""
    try:
        entry = await find(read.dataset_id)
        named = replace(read, name=str(entry.alias))
    except OdfError:
        return replace(read, problem="not in this repository")
    try:
        return replace(named, written=tuple(await _written_between(entry.dataset, named)))
    except OdfError as error:
        return replace(named, problem=error.message)


async def _written_between(dataset: Dataset, read: InputRead) -> list[Written]:
    if read.to_block is None or read.offsets is None:
        return []
    found: list[Written] = []
    async for blocks in dataset.walk(read.to_block, stop_before=read.after_block):
        found += written_in(blocks, read.offsets)
    return found[::-1]
