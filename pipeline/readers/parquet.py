"""Parquet: the columns of the file, or those that the schema of the step names, in its types."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import ReadStepParquet
from pipeline.readers.declared import check_required, declared_schema


def read_parquet(path: Path, step: ReadStepParquet) -> pa.Table | None:
    """The records of a file; errors as ``read_records``."""
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return None if schema is None else schema.empty_table()
    try:
        with pq.ParquetFile(path) as file:
            records = file.read()
    except (pa.ArrowException, OSError) as error:
        raise MalformedSource(f"the file is no readable Parquet: {error}") from None
    return records.replace_schema_metadata() if schema is None else _in_schema(records, schema)


def _in_schema(records: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [_column(records, field) for field in schema]
    plain = pa.Table.from_arrays(columns, names=schema.names)
    return check_required(plain, schema, lambda row: f"row {row + 1}")


def _column(records: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if records.column_names.count(field.name) != 1:
        raise MalformedSource(
            f"column '{field.name}' is not in the file, or twice", found=", ".join(records.column_names)
        )
    try:
        return records.column(field.name).cast(field.type)
    except pa.ArrowException as error:
        raise MalformedSource(f"column '{field.name}' does not fit its type {field.type}: {error}") from None
