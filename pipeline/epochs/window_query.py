"""Windows in Spark: the records whose windows a step closes go through the query, all else waits or is forgotten."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.epochs.grouping import Grouping
from pipeline.epochs.multiplicity import Counted
from pipeline.epochs.query import EpochQuery
from pipeline.epochs.records import NO_WATERMARK, EpochResult, EpochStep, Integers, TaggedRecords
from pipeline.epochs.window_records import all_that_is_left, closing, of_open_sessions, still_open
from pipeline.epochs.window_shape import WindowShape
from pipeline.epochs.windows import FixedWindows

_MICROSECONDS: Final = 1_000
_NEVER: Final = int(np.iinfo(np.int64).max)


def run_windows(shape: WindowShape, step: EpochStep, query: EpochQuery) -> EpochResult:
    """The rows of the windows that are closed by the step, and the records of those that are not."""
    if isinstance(shape.windows, FixedWindows):
        rows, kept = _fixed(shape, shape.windows, step, query)
    else:
        rows, kept = _sessions(shape, step, query)
    return EpochResult(rows, np.ones(len(rows), np.int64), kept)


def _fixed(
    shape: WindowShape, windows: FixedWindows, step: EpochStep, query: EpochQuery
) -> tuple[pa.Table, tuple[TaggedRecords, ...]]:
    chosen = [(each, closing(each, windows, step)) for each in step.inputs]
    with query.over(*_tables(chosen)) as frame:
        rows = Grouping(frame, shape.grouped_at).by_record().toArrow()
    return rows, tuple(still_open(each, windows, step) for each in step.inputs)


def _sessions(shape: WindowShape, step: EpochStep, query: EpochQuery) -> tuple[pa.Table, tuple[TaggedRecords, ...]]:
    in_time = step.timely.inputs
    chosen = [(each, all_that_is_left(each, step)) for each in in_time]
    with query.over(*_tables(chosen)) as frame:
        grouping, reached = Grouping(frame, shape.grouped_at), _microseconds(step.watermark)
        rows = grouping.by_window(_microseconds(step.watermark_before), reached).toArrow()
        oldest = _oldest_open(grouping.sessions().toArrow(), step.watermark)
    return rows, tuple(of_open_sessions(each, oldest, step) for each in in_time)


def _tables(chosen: list[tuple[TaggedRecords, Counted]]) -> tuple[list[pa.Table], list[Any]]:
    """The records themselves, and the bounds of the windows for which they count, in microseconds."""
    tables = [_with_one_zero(tagged.records.take(pa.array(found.rows))) for tagged, found in chosen]
    bounds = [
        pa.StructArray.from_arrays([_in_microseconds(found.after), _in_microseconds(found.until)], ["after", "until"])
        for _, found in chosen
    ]
    return tables, bounds


def _in_microseconds(moments: Integers) -> pa.Array:
    known = moments != NO_WATERMARK
    return pa.array(np.where(known, np.where(known, moments, 0) * _MICROSECONDS, NO_WATERMARK), pa.int64())


def _with_one_zero(records: pa.Table) -> pa.Table:
    """Of the two zeros of floating numbers the least is either."""
    for place, field in enumerate(records.schema):
        if pa.types.is_float32(field.type) or pa.types.is_float64(field.type):
            zero = pa.scalar(0.0, field.type)
            records = records.set_column(place, field, pc.add(records.column(place), zero))
    return records


def _oldest_open(sessions: pa.Table, watermark: int) -> int:
    """Where the first of those begins that end after the watermark."""
    starts, ends = (column.to_numpy() for column in sessions.columns)
    still_open = starts[ends > _microseconds(watermark)]
    return int(still_open.min() // _MICROSECONDS) if len(still_open) else _NEVER


def _microseconds(moment: int) -> int:
    return moment if moment == NO_WATERMARK else moment * _MICROSECONDS
