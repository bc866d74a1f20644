"""What strategies share: the history they compare with, the order of rows, the checks of keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import IncompatibleSchema, MalformedData, MalformedSource
from pipeline.ingest_request import IngestRequest, milliseconds_of
from pipeline.projection.keys import Keys, Rows, keys_of, last_rows
from pipeline.projection.projection import Projection

_POSITION = "position"


@dataclass(frozen=True, slots=True)
class Merged:
    """What is added: op, event time and data columns, in order; ``keys`` of all rows, if the strategy knows them."""

    records: pa.Table
    keys: Keys | None = None


@dataclass(frozen=True, slots=True)
class MergeContext:
    """``fallback`` is the event time of rows that have none, of the type of the event time column.

    ``history`` is what the dataset has led to, ``None`` where there is nothing or nobody asks.
    """

    history: Projection | None
    vocabulary: DatasetVocabulary
    fallback: pa.Scalar

    def filled(self, event_times: pa.ChunkedArray) -> pa.ChunkedArray:
        """The event times with none missing."""
        return pc.fill_null(event_times, self.fallback)

    def finished(self, records: pa.Table, operations: Any = None, keys: Keys | None = None) -> Merged:
        """The columns in their order: op, event time, data. ``operations`` are 0 unless given."""
        op, event_time = self.vocabulary.operation_type_column, self.vocabulary.event_time_column
        if operations is None:
            operations = pa.chunked_array([pa.repeat(pa.scalar(0, pa.int32()), len(records))])
        data = [field for field in records.schema if field.name not in {op, event_time}]
        schema = pa.schema(
            [pa.field(op, operations.type, False), records.schema.field(event_time).with_nullable(False), *data]
        )
        times = self.filled(records.column(event_time))
        columns = [operations, times, *(records.column(field.name) for field in data)]
        return Merged(pa.Table.from_arrays(columns, schema=schema), keys)


def merge_context(schema: pa.Schema, history: Projection | None, request: IngestRequest) -> MergeContext:
    """For records of that schema."""
    fallback = pa.scalar(milliseconds_of(request.event_time), TIMESTAMP)
    event_time: Any = schema.field(request.vocabulary.event_time_column).type
    return MergeContext(history, request.vocabulary, fallback.cast(event_time, safe=False))


def check_key_columns(records: pa.Table, primary_key: Sequence[str]) -> None:
    """That the columns are there.

    Raises:
        IncompatibleSchema: names the one that is not.
    """
    for name in primary_key:
        if name not in records.column_names:
            raise IncompatibleSchema(
                f"there is no column '{name}' of the primary key", found=", ".join(records.column_names)
            )


def check_unique_keys(records: pa.Table, primary_key: Sequence[str]) -> None:
    """That no key is null or there twice: such rows cannot be told from each other.

    Raises:
        MalformedSource: names the row and its key.
    """
    for name in primary_key:
        column = records.column(name)
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise MalformedSource(f"row {row + 1} has no '{name}', which is part of the primary key")
    positions = last_positions(records, primary_key)
    if len(positions) < len(records):
        row = pc.index(pc.is_in(pa.arange(0, len(records)), positions), False).as_py()
        key = ", ".join(f"{name} = {records.column(name)[row].as_py()!r}" for name in primary_key)
        raise MalformedSource(f"row {row + 1} has a primary key that comes again: {key}"[:1_000])


def last_positions(records: pa.Table, primary_key: Sequence[str]) -> pa.Array:
    """Of each key the position of its last row, in order; nulls equal each other."""
    keys = keys_of(records, primary_key)
    return pa.array(np.sort(last_rows(keys.hashes, keys.encoded)))


def in_key_order(records: pa.Table, primary_key: Sequence[str], operations: Any) -> tuple[pa.Table, Any]:
    """Sorted by key, nulls first, then by operation, then by position; the operations in the same order."""
    keyed = without_views(_keyed(records, primary_key)).append_column("op", operations)
    names = [*(f"key{i}" for i in range(len(primary_key))), "op", _POSITION]
    try:
        order = pc.sort_indices(keyed, [(name, "ascending", "at_start") for name in names])
    except pa.ArrowException as error:
        raise MalformedData(f"the primary key {', '.join(primary_key)} cannot be compared: {error}") from None
    return records.take(order), operations.take(order)


def in_time_order(records: pa.Table, event_times: pa.ChunkedArray) -> pa.Table:
    """Sorted by event time, then by position."""
    order = time_order(event_times)
    return records if order is None else records.take(pa.array(order))


def time_order(event_times: pa.ChunkedArray) -> Rows | None:
    """The rows by event time, then by position; ``None`` if they stand so."""
    times = time_numbers(event_times)
    if len(times) < 2 or pc.all(pc.less_equal(times[:-1], times[1:])).as_py():
        return None
    keyed = pa.table({"time": times, _POSITION: pa.arange(0, len(times))})
    order = pc.sort_indices(keyed, [("time", "ascending"), (_POSITION, "ascending")])
    found: Rows = order.to_numpy().astype(np.int64)
    return found


def time_numbers(event_times: pa.ChunkedArray) -> pa.ChunkedArray:
    """The times as numbers of 64 bits in the same order."""
    if pa.types.is_date32(event_times.type):
        event_times = event_times.cast(pa.int32())
    return event_times.cast(pa.int64())


def _keyed(records: pa.Table, primary_key: Sequence[str]) -> pa.Table:
    """The columns of the key under names of our own, with the position of each row."""
    columns = [records.column(name) for name in primary_key]
    names = [f"key{index}" for index in range(len(primary_key))]
    return pa.table([*columns, pa.arange(0, len(records))], [*names, _POSITION])
