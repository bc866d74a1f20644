"""Records as a stream of bytes in one of the formats that programs read, written batch by batch as they come."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, BinaryIO, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from pipeline.reading.text_values import json_columns, json_rows, readable

Batches = Iterable[pa.RecordBatch]

_PARQUET_ROWS: Final = 131_072
"""Rows of a group in files that are written here: enough to compress well, few enough to hold."""


class FileFormat(StrEnum):
    """What records are written as; the value is the suffix of a file."""

    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"
    ARROW = "arrow"
    PARQUET = "parquet"


def write_file(schema: pa.Schema, batches: Batches, file_format: FileFormat, sink: BinaryIO) -> None:
    """All ``batches``, in order.

    Raises:
        UnsupportedOperation: the format cannot hold them.
    """
    _WRITERS[file_format](schema, batches, sink)


def _write_csv(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    sink.write(_csv(pa.record_batch([pa.array([name], pa.string()) for name in schema.names], schema.names)))
    for batch in batches:
        sink.write(_csv(pa.RecordBatch.from_arrays(list(map(_flat, batch.columns)), schema.names)))


def _csv(batch: pa.RecordBatch) -> bytes:
    """Lines; text is quoted where any of the column has to be, so that an empty one is no null."""
    sink = io.BytesIO()
    quoting = "needed" if any(map(_needs_quotes, batch.columns)) else "none"
    pa.csv.write_csv(batch, sink, pa.csv.WriteOptions(include_header=False, quoting_style=quoting))
    return sink.getvalue()


def _needs_quotes(column: Any) -> bool:
    if not pa.types.is_string(column.type):
        return False
    special = pc.match_substring_regex(column, r'^$|[",\r\n]')
    return bool(pc.any(special, min_count=0).as_py())


def _flat(column: Any) -> Any:
    """A column that a line can hold: lists and structs as JSON, bytes hexadecimal, text plain."""
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        (values,) = json_columns(pa.record_batch([column], ["x"]))
        return pa.array([_json_or_text(value) for value in values], pa.string())
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_dictionary(kind):
        return column.cast(pa.string())
    return readable(column)


def _json_or_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _write_json(_: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    before = b"[\n"
    for batch in batches:
        for row in json_rows(batch):
            sink.write(before + orjson.dumps(row))
            before = b",\n"
    sink.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def _write_ndjson(_: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    for batch in batches:
        sink.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in json_rows(batch))


def _write_arrow(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_parquet(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    with pq.ParquetWriter(sink, schema, compression="snappy") as writer:
        for batch in _gathered(schema, batches):
            writer.write_table(batch, row_group_size=_PARQUET_ROWS)


def _gathered(schema: pa.Schema, batches: Batches) -> Iterable[pa.Table]:
    """The same records in tables of about a row group."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _PARQUET_ROWS:
            yield pa.Table.from_batches(held, schema)
            held = []
    if held:
        yield pa.Table.from_batches(held, schema)


_WRITERS: Final[dict[FileFormat, Callable[[pa.Schema, Batches, BinaryIO], None]]] = {
    FileFormat.CSV: _write_csv,
    FileFormat.JSON: _write_json,
    FileFormat.NDJSON: _write_ndjson,
    FileFormat.ARROW: _write_arrow,
    FileFormat.PARQUET: _write_parquet,
}
