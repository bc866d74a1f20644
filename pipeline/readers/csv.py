"""Csv: the dialect of the reference. Columns by position, empty fields are null, every row has every column.

Arrow reads the file; where it fails, the place of the first fault is searched in a second, slower pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from csv import Error as CsvError
from csv import reader as csv_reader
from itertools import product
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import csv as arrow_csv

from opendatafabric.errors import MalformedSource, UnsupportedOperation
from opendatafabric.metadata.sources import ReadStepCsv
from opendatafabric.source_limits import INFERENCE_ROWS
from pipeline.readers.blocks import first_rows, read_blocks
from pipeline.readers.declared import check_options, check_required, declared_schema, does_not_fit, no_rows
from pipeline.readers.infer_text import infer_types
from pipeline.readers.text_lines import check_utf8
from pipeline.readers.text_values import with_times

_BAD_VALUE: Final = re.compile(r"In CSV column #(\d+): .*?'(.*)'", re.DOTALL)


def _cases(word: str) -> list[str]:
    return ["".join(letters) for letters in product(*((each, each.upper()) for each in word))]


_TRUE: Final = _cases("true")
_FALSE: Final = _cases("false")


def read_csv(path: Path, step: ReadStepCsv) -> Iterator[pa.Table] | None:
    """The records of a file; errors as ``read_pieces``."""
    check_options(
        encoding=step.encoding,
        nullValue=step.null_value,
        dateFormat=step.date_format,
        timestampFormat=step.timestamp_format,
    )
    source = _CsvFile(path, step)
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return no_rows(schema)
    if schema is None:
        schema = source.schema_of_header()
        if step.infer_schema:
            schema = infer_types(first_rows(source.read(schema), INFERENCE_ROWS))
    return source.read(schema)


class _CsvFile:
    """A file and its dialect."""

    def __init__(self, path: Path, step: ReadStepCsv) -> None:
        self._path = path
        self._header = bool(step.header)
        self._separator = _one_byte("separator", step.separator) or ","
        self._quote = _one_byte("quote", step.quote) or '"'
        self._escape = _one_byte("escape", step.escape)

    def schema_of_header(self) -> pa.Schema:
        """All columns as text, by the names in the header or ``column_1`` …"""
        _, first = next(self._records(), (0, []))
        names = first if self._header else [f"column_{number}" for number in range(1, len(first) + 1)]
        for name in names:
            if names.count(name) > 1:
                raise MalformedSource(f"line 1: column '{name}' is there twice")
        return pa.schema([(name, pa.string()) for name in names])

    def read(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """All records in the types of ``schema``."""
        row = 0
        for batch in self._batches(schema):
            yield self._in_schema(pa.Table.from_batches([batch]), schema, row)
            row += len(batch)
        if not row:
            yield schema.empty_table()

    def _in_schema(self, records: pa.Table, schema: pa.Schema, first_row: int) -> pa.Table:
        def place(row: int) -> str:
            return self._place(first_row + row)

        return check_required(with_times(records, schema, place), schema, place)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        def open_reader(block_bytes: int) -> Any:
            return arrow_csv.open_csv(
                self._path, self._read_options(schema, block_bytes), self._parse_options(), _convert(schema)
            )

        try:
            yield from read_blocks(open_reader)
        except pa.ArrowException as error:
            raise self._explained(error, schema) from None

    def _read_options(self, schema: pa.Schema, block_bytes: int) -> Any:
        return arrow_csv.ReadOptions(
            block_size=block_bytes, column_names=schema.names, skip_rows_after_names=int(self._header)
        )

    def _parse_options(self) -> Any:
        return arrow_csv.ParseOptions(
            delimiter=self._separator,
            quote_char=self._quote,
            escape_char=self._escape or False,
            newlines_in_values=True,
        )

    def _records(self) -> Any:
        """Line and fields of each record, header included; the line is that of its last character."""
        with self._path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv_reader(
                file, delimiter=self._separator, quotechar=self._quote, escapechar=self._escape, strict=True
            )
            yield from ((rows.line_num, fields) for fields in rows if fields)

    def _place(self, row: int) -> str:
        wanted = row + self._header
        for number, (line, _) in enumerate(self._records()):
            if number == wanted:
                return f"line {line}"
        return f"row {row + 1}"

    def _explained(self, error: Exception, schema: pa.Schema) -> MalformedSource:
        check_utf8(self._path)
        bad = _BAD_VALUE.search(str(error))
        try:
            for number, (line, fields) in enumerate(self._records()):
                if number >= self._header and len(fields) != len(schema):
                    return MalformedSource(
                        f"line {line} has another number of columns", expected=len(schema), found=len(fields)
                    )
                if number >= self._header and bad and fields[int(bad[1])].strip() == bad[2].strip():
                    return does_not_fit(f"line {line}", schema.field(int(bad[1])), bad[2])
        except CsvError as other:
            return MalformedSource(f"the file is no CSV: {other}")
        return MalformedSource(f"the file is no CSV: {error}")


def _convert(schema: pa.Schema) -> Any:
    text = {field.name: pa.string() if pa.types.is_timestamp(field.type) else field.type for field in schema}
    return arrow_csv.ConvertOptions(
        column_types=text,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        true_values=_TRUE,
        false_values=_FALSE,
    )


def _one_byte(name: str, value: str | None) -> str | None:
    if value is not None and len(value.encode()) != 1:
        raise UnsupportedOperation(f"the {name} of a CSV source is one byte", found=repr(value))
    return value
