"""The records that a dataset holds already, for strategies that compare with them.

All that a strategy asks of the past goes through here: which keys there were, and what state the changelog leads to. It
is answered by a projection that was kept from the last time; only slices that came since are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.data.slice_format import ROW_GROUP_ROWS
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.sources import (
    MergeStrategy,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
)
from pipeline.declared import to_declared
from pipeline.ingest_request import HistoryFiles
from pipeline.prepared import data_fields
from pipeline.projection.projection import Projection, Shape

_REMEMBERING: Final = (MergeStrategyLedger, MergeStrategySnapshot, MergeStrategyUpsertStream)


def open_history(
    files: HistoryFiles, strategy: MergeStrategy, schema: pa.Schema | None, vocabulary: DatasetVocabulary
) -> Projection | None:
    """What ``strategy`` may ask of the records in ``files``, which have that schema; ``None`` if it has no questions.

    Raises:
        SpoiledRunError: what was kept is damaged; without it, and with all slices, the answer can be found.
        MalformedData: a slice cannot be read.
    """
    shape = None if schema is None else _shape(strategy, schema, vocabulary)
    if shape is None:
        return None
    projection = Projection(shape, files.runs, files.made)
    for records in _gathered(files.slices, shape):
        projection.add(records)
    return projection


def _shape(strategy: MergeStrategy, schema: pa.Schema, vocabulary: DatasetVocabulary) -> Shape | None:
    fields = {field.name: field for field in data_fields(schema, vocabulary)}
    if not isinstance(strategy, _REMEMBERING) or not fields.keys() >= {*strategy.primary_key}:
        return None
    records = [] if isinstance(strategy, MergeStrategyLedger) else fields.values()
    plain = pa.schema([field.remove_metadata().with_nullable(True) for field in records])
    key = pa.schema(
        [fields[name].remove_metadata().with_nullable(True) for name in dict.fromkeys(strategy.primary_key)]
    )
    return Shape(strategy.primary_key, vocabulary.operation_type_column, plain, key)


def _gathered(slices: Sequence[Path], shape: Shape) -> Iterator[pa.Table]:
    """The records of the slices, many small ones together and no more than some at a time."""
    pending: list[pa.Table] = []
    for records in (batch for path in slices for batch in _read(path, shape)):
        pending.append(records)
        if sum(map(len, pending)) >= ROW_GROUP_ROWS:
            yield pa.concat_tables(pending)
            pending = []
    if pending:
        yield pa.concat_tables(pending)


def _read(path: Path, shape: Shape) -> Iterator[pa.Table]:
    wanted = shape.needed
    try:
        with pq.ParquetFile(path, arrow_extensions_enabled=False) as file:
            names = [name for name in wanted.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=ROW_GROUP_ROWS, columns=names):
                yield _in_types(pa.Table.from_batches([batch]), wanted)
    except (pa.ArrowException, OSError) as error:
        raise MalformedData(f"the slice {path.name} cannot be read: {error}") from None


def _in_types(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of ``schema``; one that is younger than the slice holds nulls."""
    columns = [_column(records, field) for field in schema]
    return to_declared(pa.table(columns, schema.names), schema)


def _column(records: pa.Table, field: pa.Field) -> Any:
    if field.name not in records.column_names:
        return pa.nulls(len(records), field.type)
    column = records.column(field.name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
