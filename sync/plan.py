"""What a transfer would move, counted from metadata alone (spec: smart transfer protocol, TransferPlan)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opendatafabric.chain.objects import objects_of
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """Blocks and what they name, whether or not the other side has some of it; sizes in bytes."""

    num_blocks: int = 0
    num_objects: int = 0
    num_records: int = 0
    bytes_in_raw_blocks: int = 0
    bytes_in_raw_objects: int = 0

    def __add__(self, other: TransferPlan) -> TransferPlan:
        return TransferPlan(
            self.num_blocks + other.num_blocks,
            self.num_objects + other.num_objects,
            self.num_records + other.num_records,
            self.bytes_in_raw_blocks + other.bytes_in_raw_blocks,
            self.bytes_in_raw_objects + other.bytes_in_raw_objects,
        )


def plan_transfer(blocks: Iterable[HashedBlock]) -> TransferPlan:
    """The plan of moving ``blocks`` and every object they add."""
    plan = TransferPlan()
    for block in blocks:
        plan += _plan_of(block)
    return plan


def _plan_of(block: HashedBlock) -> TransferPlan:
    files = objects_of(block)
    event = block.event
    data = event.new_data if isinstance(event, AddData | ExecuteTransform) else None
    return TransferPlan(
        num_blocks=1,
        num_objects=len(files),
        num_records=0 if data is None else data.offset_interval.end - data.offset_interval.start + 1,
        bytes_in_raw_blocks=len(block.raw),
        bytes_in_raw_objects=sum(file.size for file in files),
    )
