"""A step as its block says it, against the same step made again: what of it differs.

The bytes of files and checkpoints are the engine's own affair; all else must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from opendatafabric.metadata.events import ExecuteTransform, ExecuteTransformInput
from opendatafabric.metadata.slices import DataSlice
from pipeline.transform.made import MadeStep
from pipeline.transform.plan import TransformPlan
from verify.replayed import RowDifference, StepDifference


def differing_inputs(recorded: ExecuteTransform, plan: TransformPlan) -> tuple[StepDifference, ...]:
    """Inputs of which the block says other blocks or offsets than their chains have."""
    if plan.waits_for:
        return (StepDifference(f"the step read {' and '.join(plan.waits_for)} before there were any records in it"),)
    pairs = zip_longest(recorded.query_inputs, (each.event for each in plan.inputs))
    return tuple(
        StepDifference("the step says other records of an input than its blocks have", _input(said), _input(there))
        for said, there in pairs
        if said != there
    )


def differing_output(
    recorded: ExecuteTransform, made: MadeStep, rows: tuple[RowDifference, ...]
) -> tuple[StepDifference, ...]:
    """Records and watermark that are not those of the block; ``rows`` are the first that differ."""
    found = [*_records(recorded.new_data, made.answer.data, rows)]
    if recorded.new_watermark != made.watermark:
        message = "the watermark is not that of the inputs"
        found.append(StepDifference(message, _text(recorded.new_watermark), _text(made.watermark)))
    return tuple(found)


def same_records(recorded: DataSlice | None, made: DataSlice | None) -> bool:
    """Whether they are the same, at the same offsets."""
    if recorded is None or made is None:
        return recorded is made
    return (recorded.logical_hash, recorded.offset_interval) == (made.logical_hash, made.offset_interval)


def _records(
    recorded: DataSlice | None, made: DataSlice | None, rows: tuple[RowDifference, ...]
) -> Iterator[StepDifference]:
    if same_records(recorded, made):
        return
    if recorded is None or made is None:
        side = "no records, and the block has some" if made is None else "records, and the block has none"
        yield StepDifference(f"the transform gives {side}", _slice(recorded), _slice(made))
    elif not rows:
        message = "the transform gives the same values in columns of other types"
        yield StepDifference(message, _slice(recorded), _slice(made))
    else:
        yield StepDifference(f"the transform gives other records ({_counted(recorded, made)})")
        for row in rows:
            told = f"records differ {row}"
            yield StepDifference(told, row.expected, row.found, offset=row.offset, column=row.column)


def _counted(recorded: DataSlice, made: DataSlice) -> str:
    return f"{len(recorded.offset_interval)} recorded, {len(made.offset_interval)} given"


def _slice(data: DataSlice | None) -> str:
    return "none" if data is None else f"{len(data.offset_interval)} records {data.logical_hash}"


def _input(given: ExecuteTransformInput | None) -> str:
    if given is None:
        return "none"
    blocks = f"blocks {_text(given.prev_block_hash)} to {_text(given.new_block_hash)}"
    return f"{given.dataset_id}: {blocks}, offsets {_text(given.prev_offset)} to {_text(given.new_offset)}"


def _text(value: object) -> str:
    return "none" if value is None else str(value)
