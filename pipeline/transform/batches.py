"""How much of what is new goes into one step, when it is very much: blocks of all inputs, in the order of their times.

A block is read whole, or in a later step. Pure: from what came follows up to where each input is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class Arrival:
    """A block of data of an input, the one before it, and how many records it brought."""

    at: Instant
    block: Multihash
    before: Multihash | None
    records: int


def arrival_of(block: HashedBlock, records: int) -> Arrival:
    """How ``block`` came."""
    return Arrival(block.block.system_time, block.hash, block.block.prev_block_hash, records)


def ends_of_step(arrivals: Sequence[Sequence[Arrival]], records_max: int) -> list[Multihash | None] | None:
    """The block up to which each input is read, ``None`` for up to its head; ``None`` if everything goes in.

    At most ``records_max`` records go into the step, but at least one block that has any.
    """
    in_time = sorted((each.at, index, place) for index, came in enumerate(arrivals) for place, each in enumerate(came))
    taken, records = [0] * len(arrivals), 0
    for _, index, place in in_time:
        more = arrivals[index][place].records
        if more and records and records + more > records_max:
            break
        taken[index], records = place + 1, records + more
    else:
        return None
    return [_end(came, count) for came, count in zip(arrivals, taken, strict=True)]


def _end(came: Sequence[Arrival], count: int) -> Multihash | None:
    """After so many of them; before the first of them there is already a schema."""
    if count == len(came):
        return None
    return came[count - 1].block if count else came[0].before
