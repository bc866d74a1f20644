"""The first rows in which two Parquet files differ that should hold the same records.

Rows are paired by their place, since offsets count up in both. Two batches of each file are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.limits import REPLAY_ROWS_SHOWN_MAX, REPLAY_VALUE_CHARS_MAX
from verify.replayed import RowDifference

_Pair = tuple[pa.RecordBatch | None, pa.RecordBatch | None]


def row_differences(recorded: Path, made: Path, *, first_offset: int) -> tuple[RowDifference, ...]:
    """Values of the first ``REPLAY_ROWS_SHOWN_MAX`` rows that are not the same.

    None at all if only the types of columns differ.

    Raises:
        MalformedData, LimitExceeded: a file cannot be read.
    """
    with closing(ParquetRecords(str(recorded))) as theirs, closing(ParquetRecords(str(made))) as ours:
        rows = _differing_rows(_paired(theirs.batches(), ours.batches()), first_offset)
        return tuple(value for row in islice(rows, REPLAY_ROWS_SHOWN_MAX) for value in row)


def _paired(theirs: Iterator[pa.RecordBatch], ours: Iterator[pa.RecordBatch]) -> Iterator[_Pair]:
    """Pieces of the same number of rows, and at the end what only one side has."""
    one, other = _next(theirs), _next(ours)
    while one is not None and other is not None:
        rows = min(len(one), len(other))
        yield one.slice(0, rows), other.slice(0, rows)
        one = one.slice(rows) if len(one) > rows else _next(theirs)
        other = other.slice(rows) if len(other) > rows else _next(ours)
    if one is not None or other is not None:
        yield one, other


def _next(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return next((batch for batch in batches if len(batch)), None)


def _differing_rows(pairs: Iterator[_Pair], offset: int) -> Iterator[list[RowDifference]]:
    for theirs, ours in pairs:
        if theirs is None or ours is None:
            yield from _one_sided(theirs, ours, offset)
            return
        yield from _differing(theirs, ours, offset)
        offset += len(theirs)


def _one_sided(
    theirs: pa.RecordBatch | None, ours: pa.RecordBatch | None, offset: int
) -> Iterator[list[RowDifference]]:
    there = theirs if theirs is not None else ours
    for row in range(len(there) if there is not None else 0):
        told = None if there is None else _told(there.slice(row, 1).to_pylist()[0])
        yield [RowDifference(offset + row, None, None if theirs is None else told, None if ours is None else told)]


def _differing(theirs: pa.RecordBatch, ours: pa.RecordBatch, offset: int) -> Iterator[list[RowDifference]]:
    names = list(dict.fromkeys([*theirs.schema.names, *ours.schema.names]))
    values = {name: (_values(theirs, name), _values(ours, name)) for name in names if not _same(theirs, ours, name)}
    for row in range(len(theirs) if values else 0):
        found = [
            RowDifference(offset + row, name, _told(expected[row]), _told(given[row]))
            for name, (expected, given) in values.items()
            if repr(expected[row]) != repr(given[row])
        ]
        if found:
            yield found


def _same(theirs: pa.RecordBatch, ours: pa.RecordBatch, name: str) -> bool:
    if name not in theirs.schema.names or name not in ours.schema.names:
        return False
    one, other = theirs.column(name), ours.column(name)
    is_exact = not (pa.types.is_floating(one.type) or pa.types.is_nested(one.type))  # 0.0 equals -0.0
    return is_exact and bool(one.equals(other))


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    return batch.column(name).to_pylist() if name in batch.schema.names else [None] * len(batch)


def _told(value: object) -> str:
    told = "null" if value is None else str(value)
    return told if len(told) <= REPLAY_VALUE_CHARS_MAX else f"{told[:REPLAY_VALUE_CHARS_MAX]}…"
