"""Records as a stream of bytes: a table for people, or one of the formats that programs read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa

from cli.output import table_lines
from cli.records import cell
from pipeline.reading.text_values import text_rows
from pipeline.reading.writers import Batches, FileFormat, write_file

_TABLE_ROWS: Final = 10_000
"""Rows of a table for people that are aligned with each other."""


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
    if record_format is RecordFormat.TABLE:
        _write_table(schema, batches, sink)
    else:
        write_file(schema, batches, FileFormat(record_format.value), sink)


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
