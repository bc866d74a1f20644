"""Records as a stream of bytes in one of the formats that programs and people read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from cli.output import table_lines
from cli.records import cell, json_rows, text_rows

_TABLE_ROWS: Final = 10_000
"""Rows of a table for people that are aligned with each other."""

Batches = Iterable[pa.RecordBatch]


class RecordFormat(StrEnum):
    """What records are written as."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"
    ARROW = "arrow"
    PARQUET = "parquet"


def write_records(schema: pa.Schema, batches: Batches, record_format: RecordFormat, sink: BinaryIO) -> None:
    """All ``batches``, in order, as they come.

    Raises:
        UnsupportedOperation: the format cannot hold them.
    """
    _WRITERS[record_format](schema, batches, sink)


def format_of(path: Path) -> RecordFormat | None:
    """What the suffix of a file says."""
    suffix = path.suffix.lower().removeprefix(".")
    return next((each for each in RecordFormat if each.value == suffix and each is not RecordFormat.TABLE), None)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is there when all of it was written, and not before."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_table(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    rows: list[list[str]] = []
    shown = False
    for batch in batches:
        rows += [[cell(value) for value in row] for row in text_rows(batch)]
        if len(rows) >= _TABLE_ROWS:
            sink.writelines(line.encode() + b"\n" for line in table_lines(schema.names, rows))
            rows, shown = [], True
    if rows or not shown:
        sink.writelines(line.encode() + b"\n" for line in table_lines(schema.names, rows))


def _write_csv(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    sink.write(_csv_lines([schema.names]))
    for batch in batches:
        sink.write(_csv_lines([_flat(value) for value in row] for row in text_rows(batch)))


def _csv_lines(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _flat(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json(value) if isinstance(value, list | dict) else value


def _write_json(_: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    before = b"[\n"
    for batch in batches:
        for row in json_rows(batch):
            sink.write(before + _json(row).encode())
            before = b",\n"
    sink.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def _write_ndjson(_: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    for batch in batches:
        sink.writelines(_json(row).encode() + b"\n" for row in json_rows(batch))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_arrow(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_parquet(schema: pa.Schema, batches: Batches, sink: BinaryIO) -> None:
    with pq.ParquetWriter(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


_WRITERS: Final[dict[RecordFormat, Callable[[pa.Schema, Batches, BinaryIO], None]]] = {
    RecordFormat.TABLE: _write_table,
    RecordFormat.CSV: _write_csv,
    RecordFormat.JSON: _write_json,
    RecordFormat.NDJSON: _write_ndjson,
    RecordFormat.ARROW: _write_arrow,
    RecordFormat.PARQUET: _write_parquet,
}
