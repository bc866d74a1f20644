"""Media types of files of records."""

from __future__ import annotations

from typing import Final

from pipeline.query.answer_form import FileKind

FILE_TYPES: Final = {
    FileKind.CSV: "text/csv; charset=utf-8",
    FileKind.NDJSON: "application/x-ndjson",
    FileKind.ARROW: "application/vnd.apache.arrow.stream",
    FileKind.PARQUET: "application/vnd.apache.parquet",
}
