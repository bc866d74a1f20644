"""The step that runs when a source names neither a query nor a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from opendatafabric.data.vocabulary import DatasetVocabulary
from pipeline.readers.text_values import read_times


def run_default_step(
    pieces: Iterator[pa.Table], vocabulary: DatasetVocabulary, *, op_is_data: bool
) -> Iterator[pa.Table]:
    """Columns called like system columns get a leading ``_``; an event time in seconds or text becomes a time.

    ``op_is_data`` says that the merge strategy takes no ``op`` from the source.

    Raises, while the pieces are taken:
        MalformedSource: a text in the event time that is none.
    """
    moved = {vocabulary.offset_column, vocabulary.system_time_column}
    moved |= {vocabulary.operation_type_column} if op_is_data else set()
    first_row = 0
    for piece in pieces:
        records = piece.rename_columns([f"_{name}" if name in moved else name for name in piece.column_names])
        yield _with_times(records, vocabulary.event_time_column, first_row)
        first_row += len(piece)


def _with_times(records: pa.Table, name: str, first_row: int) -> pa.Table:
    if records.column_names.count(name) != 1:
        return records
    index = records.column_names.index(name)
    column: Any = records.column(index)
    if pa.types.is_integer(column.type) and column.type.bit_width > 8:
        column = column.cast(pa.int64()).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("ms", "UTC"))
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = read_times(name, column, pa.timestamp("ms", "UTC"), lambda row: f"row {first_row + row + 1}")
    return records.set_column(index, name, column)
