"""Brings the index of facts up to the head that a dataset has: only what is new is read, unless the chain was replaced.

It may be broken off anywhere and gone on with later; whoever else is at the same dataset meanwhile does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catalog.dataset_facts import DatasetFacts, Step
from catalog.facts_of_blocks import FORM, BlockFacts, Facts, with_block
from catalog.lineage_edges import NamedInput, inputs_in
from opendatafabric.did import DatasetId
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset


async def refresh_facts(index: DatasetFacts, dataset_id: DatasetId, dataset: Dataset) -> Facts | None:
    """What the chain says up to its head; ``None`` without one.

    Raises:
        BlockNotFound, HashMismatch, MalformedBlock: the chain is damaged. What comes before is known then.
    """
    known, head = await index.of(dataset_id), await dataset.head()
    if head is None or (known is not None and (known.head, known.form) == (head, FORM)):
        return known
    told_head = expected_head = None if known is None else known.head
    hashes, continues = await _hashes(dataset, head, known)
    facts, anew = (known, False) if known is not None and continues else (Facts(), True)
    async for blocks in dataset.read_blocks(hashes):
        facts, rows, inputs = await asyncio.to_thread(_gathered, facts, blocks)
        is_last = facts.head == head
        step = Step(dataset_id, facts, rows, expected_head, told_head, inputs, anew=anew, is_last=is_last)
        if not await index.advance_all([step]):
            return await index.of(dataset_id)
        expected_head, anew = facts.head, False
    return facts


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
