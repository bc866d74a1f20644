"""Parquet: the columns of the file, or those that the schema of the step names, in its types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import ReadStepParquet
from pipeline.readers.declared import check_required, declared_schema, no_rows

_BATCH_ROWS: Final = 65_536


def read_parquet(path: Path, step: ReadStepParquet) -> Iterator[pa.Table] | None:
    """The records of a file; errors as ``read_pieces``."""
    schema = declared_schema(step.schema)
    return _pieces(path, schema) if path.stat().st_size else no_rows(schema)


def _pieces(path: Path, schema: pa.Schema | None) -> Iterator[pa.Table]:
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            yield _in_schema(file.schema_arrow.empty_table(), schema, 0)
            for batch in file.iter_batches(_BATCH_ROWS):
                yield _in_schema(pa.Table.from_batches([batch]), schema, row)
                row += len(batch)
    except (pa.ArrowException, OSError) as error:
        raise MalformedSource(f"the file is no readable Parquet: {error}") from None


def _in_schema(records: pa.Table, schema: pa.Schema | None, first_row: int) -> pa.Table:
    if schema is None:
        return records.replace_schema_metadata()
    columns = [_column(records, field) for field in schema]
    plain = pa.Table.from_arrays(columns, names=schema.names)
    return check_required(plain, schema, lambda row: f"row {first_row + row + 1}")


def _column(records: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if records.column_names.count(field.name) != 1:
        raise MalformedSource(
            f"column '{field.name}' is not in the file, or twice", found=", ".join(records.column_names)
        )
    try:
        return records.column(field.name).cast(field.type)
    except pa.ArrowException as error:
        raise MalformedSource(f"column '{field.name}' does not fit its type {field.type}: {error}") from None
