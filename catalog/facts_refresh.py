"""Brings the index of facts up to the head that a dataset has: only what is new is read, unless the chain was replaced.

It may be broken off anywhere and gone on with later; whoever else is at the same dataset meanwhile does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from catalog.dataset_facts import DatasetFacts, Step
from catalog.facts_of_blocks import FORM, BlockFacts, Facts, with_block
from catalog.lineage_edges import NamedInput, inputs_in
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset

_READ_AT_ONCE: Final = 8
"""Chains that are read side by side: reading waits for the disk."""


async def refresh_facts(index: DatasetFacts, dataset_id: DatasetId, dataset: Dataset) -> Facts | None:
    """What the chain says up to its head; ``None`` without one.

    Raises:
        BlockNotFound, HashMismatch, MalformedBlock: the chain is damaged. What comes before is known then.
    """
    facts = known = await index.of(dataset_id)
    async for step in _steps(known, dataset_id, dataset):
        if not await index.advance_all([step]):
            return await index.of(dataset_id)
        facts = step.facts
    return facts


async def refresh_many(index: DatasetFacts, datasets: Mapping[DatasetId, Dataset]) -> dict[DatasetId, OdfError]:
    """The same for many at once, which are read side by side and written in one transaction as far as each is short.

    Returns what is damaged, and how.
    """
    known = await index.of_all(datasets)
    room = asyncio.Semaphore(_READ_AT_ONCE)

    async def last_step(dataset_id: DatasetId) -> Step | OdfError | None:
        async with room:
            try:
                return await _last_step(index, _steps(known.get(dataset_id), dataset_id, datasets[dataset_id]))
            except OdfError as error:
                return error

    found = dict(zip(datasets, await asyncio.gather(*map(last_step, datasets)), strict=True))
    await index.advance_all([each for each in found.values() if isinstance(each, Step)])
    return {dataset_id: each for dataset_id, each in found.items() if isinstance(each, OdfError)}


async def _last_step(index: DatasetFacts, steps: AsyncIterator[Step]) -> Step | None:
    """The one that is left to be gone, after all before it; ``None`` where there is none, or somebody else goes."""
    async for step in steps:
        if step.is_last:
            return step
        if not await index.advance_all([step]):
            break
    return None


async def _steps(known: Facts | None, dataset_id: DatasetId, dataset: Dataset) -> AsyncIterator[Step]:
    """From what is known to the head, as many blocks in each as are read at once."""
    head = await dataset.head()
    if head is None or (known is not None and (known.head, known.form) == (head, FORM)):
        return
    told_head = expected_head = None if known is None else known.head
    hashes, continues = await _hashes(dataset, head, known)
    facts, anew = (known, False) if known is not None and continues else (Facts(), True)
    async for blocks in dataset.read_blocks(hashes):
        facts, rows, inputs = await asyncio.to_thread(_gathered, facts, blocks)
        is_last = facts.head == head
        yield Step(dataset_id, facts, rows, expected_head, told_head, inputs, anew=anew, is_last=is_last)
        expected_head, anew = facts.head, False


async def _hashes(dataset: Dataset, head: Multihash, known: Facts | None) -> tuple[Sequence[Multihash], bool]:
    """The blocks up to ``head``, oldest first, and whether they continue what is known."""
    stop_before = known.head if known is not None and known.form == FORM else None
    hashes: list[Multihash] = []
    before: Multihash | None = None
    async for batch in dataset.walk_headers(head, stop_before=stop_before):
        hashes += [walked.hash for walked in batch]
        before = batch[-1].prev_block_hash
    return hashes[::-1], before is not None and before == stop_before


def _gathered(
    facts: Facts, blocks: Sequence[HashedBlock]
) -> tuple[Facts, list[BlockFacts], tuple[NamedInput, ...] | None]:
    rows: list[BlockFacts] = []
    for block in blocks:
        facts, row = with_block(facts, block)
        rows.append(row)
    return facts, rows, inputs_in(blocks)
