"""What a data slice has to look like: system columns first, one Parquet file, offsets without a gap.

Readers take any Parquet file with the right columns; writers of this project use the settings of ``writer_options``, so
that slices look like those of the reference. The logical hash does not depend on them. Spec: Common Data Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from opendatafabric.data.changelog import DEFAULT_VOCABULARY, first_unknown_operation
from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.slices import OffsetInterval

TIMESTAMP: Final = pa.timestamp("ms", "UTC")
"""The type of every top-level timestamp of a slice."""
ROW_GROUP_ROWS: Final = 1_048_576
ROW_GROUP_BYTES: Final = 128 * 1024 * 1024
"""Of records in memory, where it is free how many rows a group has: two groups are there while a slice is written."""
_PIECE_ROWS: Final = 65_536
_PAGE_BYTES: Final = 1024 * 1024
_PAGE_ROWS: Final = 20_000
_WRITE_BATCH_ROWS: Final = 1024

_OFFSET_MAX: Final = 2**63 - 1
_OFFSET_TYPES: Final = (pa.int64(), pa.uint64())
"""What is written, and what the specification names."""
_OPERATION_TYPES: Final = (pa.int32(), pa.uint8(), pa.int64())
"""What is written, what the specification names, and what a changelog source may have declared."""


def system_fields(vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> tuple[pa.Field, ...]:
    """The columns every slice of a root dataset starts with, in order."""
    return (
        pa.field(vocabulary.offset_column, pa.int64(), nullable=False),
        pa.field(vocabulary.operation_type_column, pa.int32(), nullable=False),
        pa.field(vocabulary.system_time_column, TIMESTAMP, nullable=False),
        pa.field(vocabulary.event_time_column, TIMESTAMP, nullable=False),
    )


def check_slice_schema(schema: pa.Schema, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> None:
    """That the columns can be those of a slice: offset, operation and system time first, an event time somewhere.

    Names are looked at once each; nullability is not looked at, for files of other writers often leave it open.

    Raises:
        MalformedData: names the first column that is missing, out of place or of another type.
    """
    for index, (name, allowed) in enumerate(_leading_columns(vocabulary)):
        found = schema.field(index) if index < len(schema) else None
        if found is None or found.name != name:
            raise _wrong(f"column {index + 1} of a slice is '{name}'", name, None if found is None else found.name)
        if found.type not in allowed:
            raise _wrong(f"column '{name}' has another type", " or ".join(map(str, allowed)), found.type)
    name = vocabulary.event_time_column
    if schema.names.count(name) != 1:
        raise _wrong(f"a slice has one column '{name}'", name, ", ".join(schema.names))
    if not _is_event_time(schema.field(name).type):
        raise _wrong(f"column '{name}' has another type", f"{TIMESTAMP} or a date", schema.field(name).type)


def check_slice(
    source: str | BinaryIO, interval: OffsetInterval, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY
) -> None:
    """That a Parquet file holds exactly the records of ``interval``, as the columns of a slice, one after another.

    Raises:
        MalformedData: names the first thing that is not so: a column, the count, an offset, an operation, a time.
        LimitExceeded: as ``ParquetRecords``.
        OSError: the file itself cannot be read.
    """
    records = ParquetRecords(source)
    try:
        check_slice_schema(pa.schema(zip(records.schema.names, records.top_level_types(), strict=True)), vocabulary)
        if records.num_rows != len(interval):
            raise _wrong("the slice has another number of records", len(interval), records.num_rows)
        _check_batches(records.batches(), interval.start, vocabulary)
    finally:
        records.close()


def first_wrong_offset(offsets: pa.Array, start: int) -> int | None:
    """The row at which ``offsets`` stop counting up from ``start`` by one; ``None`` if they don't."""
    if start + len(offsets) > _OFFSET_MAX:
        return 0
    counted = np.arange(start, start + len(offsets), dtype=np.int64)
    same = pc.fill_null(pc.equal(offsets.cast(pa.int64(), safe=False), pa.array(counted)), False)
    found = pc.index(same, False).as_py()
    return None if found < 0 else int(found)


def writer_options(schema: pa.Schema) -> dict[str, Any]:
    """Arguments of ``pyarrow.parquet.ParquetWriter`` for a slice; booleans have no dictionary."""
    with_dictionary = [field.name for field in schema if not pa.types.is_boolean(field.type)]
    return {
        "version": "2.6",  # of types: 1.0 would lose unsigned integers and nanoseconds; pages are those of version 1
        "data_page_version": "1.0",
        "compression": "snappy",
        "use_dictionary": with_dictionary,
        "write_statistics": True,
        "write_page_index": True,
        "data_page_size": _PAGE_BYTES,
        "max_rows_per_page": _PAGE_ROWS,
        "write_batch_size": _WRITE_BATCH_ROWS,
        "store_schema": True,
    }


@contextmanager
def open_slice(sink: BinaryIO, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """What writes records, in the order of their offsets, as one Parquet file; each call begins a new row group.

    Raises, also the function:
        MalformedData: types that Parquet cannot hold.
    """

    def write(records: pa.Table) -> None:
        with _told_as_ours():
            writer.write_table(records, row_group_size=ROW_GROUP_ROWS)

    with _told_as_ours():
        writer = pq.ParquetWriter(sink, schema, **writer_options(schema))
    with writer:
        yield write


def write_slice(sink: BinaryIO, records: pa.Table) -> None:
    """Write all records at once; errors as ``open_slice``."""
    with open_slice(sink, records.schema) as write:
        write(records)


def row_groups(pieces: Iterable[pa.Table], *, by_bytes: bool) -> Iterator[pa.Table]:
    """The records as row groups: as many rows as one may have, or, ``by_bytes``, fewer if they are large."""
    held: list[pa.Table] = []
    rows = size = 0
    for piece in _small(pieces):
        room = ROW_GROUP_ROWS - rows
        held.append(piece.slice(0, room))
        rows, size = rows + len(held[-1]), size + held[-1].nbytes
        if rows == ROW_GROUP_ROWS or (by_bytes and size >= ROW_GROUP_BYTES):
            yield pa.concat_tables(held)
            held = [piece.slice(room)]
            rows, size = len(held[0]), held[0].nbytes
    if rows:
        yield pa.concat_tables(held)


def _small(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """No piece has more rows than a row group."""
    count = min(_PIECE_ROWS, ROW_GROUP_ROWS)
    for piece in pieces:
        for start in range(0, len(piece), count):
            yield piece.slice(start, count)


@contextmanager
def _told_as_ours() -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise MalformedData(f"the records cannot be written as Parquet: {error}") from None


def _leading_columns(vocabulary: DatasetVocabulary) -> tuple[tuple[str, tuple[pa.DataType, ...]], ...]:
    return (
        (vocabulary.offset_column, _OFFSET_TYPES),
        (vocabulary.operation_type_column, _OPERATION_TYPES),
        (vocabulary.system_time_column, (TIMESTAMP,)),
    )


def _is_event_time(data_type: Any) -> bool:
    return bool(pa.types.is_date(data_type) or (pa.types.is_timestamp(data_type) and data_type.tz is not None))


def _check_batches(batches: Iterable[pa.RecordBatch], start: int, vocabulary: DatasetVocabulary) -> None:
    system_time: object = None
    for batch in batches:
        offsets = batch.column(vocabulary.offset_column)
        wrong = first_wrong_offset(offsets, start)
        if wrong is not None:
            raise _wrong("the offsets do not count through the interval", start + wrong, offsets[wrong].as_py())
        _check_operations(batch, start, vocabulary)
        system_time = _check_system_time(batch, system_time, vocabulary)
        start += batch.num_rows


def _check_operations(batch: pa.RecordBatch, start: int, vocabulary: DatasetVocabulary) -> None:
    operations = batch.column(vocabulary.operation_type_column)
    row = first_unknown_operation(operations)
    if row is not None:
        raise _wrong(f"the record at offset {start + row} has no known operation", "0 to 3", operations[row].as_py())


def _check_system_time(batch: pa.RecordBatch, before: object, vocabulary: DatasetVocabulary) -> object:
    """One value for the whole slice; returns it."""
    found = pc.unique(batch.column(vocabulary.system_time_column)).cast(pa.int64()).to_pylist()
    values = {*found, *([] if before is None else [before])}
    if len(values) > 1 or None in values:
        raise _wrong("the records of a slice have one system time", "one value", f"{len(values)} values")
    return values.pop() if values else None


def _wrong(message: str, expected: object, found: object) -> MalformedData:
    return MalformedData(message, expected=expected, found=found)
