"""UpsertStream: rows put a new state of their key in place, or take it back (op 1); the last row of a key wins."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.changelog import OperationType
from opendatafabric.errors import IncompatibleSchema
from opendatafabric.metadata.sources import MergeStrategyUpsertStream
from pipeline.merge.context import MergeContext, Merged, check_key_columns, last_positions
from pipeline.merge.difference import Difference, changes


def merge_upsert_stream(records: pa.Table, strategy: MergeStrategyUpsertStream, context: MergeContext) -> Merged:
    """The changes that the last row of each key makes to the state. Rows without an ``op`` value do nothing."""
    check_key_columns(records, strategy.primary_key)
    records = records.take(last_positions(records, strategy.primary_key))
    records, retract = _without_op(records, context.vocabulary.operation_type_column)
    compare = tuple(name for name in records.column_names if name not in strategy.primary_key)
    difference = Difference(strategy.primary_key, compare, missing_is_retracted=False, retract=retract)
    return changes(records, difference, context)


def _without_op(records: pa.Table, name: str) -> tuple[pa.Table, Any]:
    """The rows that say something, and of each whether it retracts."""
    if name not in records.column_names:
        return records, None
    if not pa.types.is_integer(records.schema.field(name).type):
        raise IncompatibleSchema(f"column '{name}' says what a row does: it is an integer", hint=f"{name} INT NOT NULL")
    records = records.filter(records.column(name).is_valid())
    operations: Any = records.column(name)
    retracting = pc.equal(operations.cast(pa.int64()), int(OperationType.RETRACT))
    return records.drop_columns([name]), retracting.to_numpy()
