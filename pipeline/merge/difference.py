"""What tells new rows from the state of a dataset: appended, retracted and corrected records.

Spark joins keys and compares values; whole new rows never pass through it, they are picked by their positions, so they
keep their types. Old records come out of it whole and get back the types of the dataset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from opendatafabric.data.changelog import OperationType
from pipeline.carried import to_frame
from pipeline.declared import to_declared
from pipeline.merge.context import MergeContext, in_key_order

_NOTHING: Final[tuple[OperationType, ...]] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """How to compare: by which key, which columns, and what a key means that the input does not have.

    ``retract`` are the positions of rows that take their key back, if the input says so itself.
    """

    primary_key: tuple[str, ...]
    compare: tuple[str, ...]
    missing_is_retracted: bool
    retract: pa.Array | None = None


def changes(records: pa.Table, difference: Difference, context: MergeContext) -> pa.Table:
    """The changes that lead from the state of the dataset to ``records``, in order."""
    if not context.history:
        return _all_new(records, difference, context)
    found = _compared(records, difference, context).toArrow()
    return _assembled(records, found, difference, context)


def _all_new(records: pa.Table, difference: Difference, context: MergeContext) -> pa.Table:
    if difference.retract is not None:
        positions = pa.arange(0, len(records))
        records = records.filter(pc.invert(pc.is_in(positions, difference.retract)))
    operations = pa.chunked_array([pa.repeat(pa.scalar(0, pa.int32()), len(records))])
    return context.finished(*in_key_order(records, difference.primary_key, operations))


def _compared(records: pa.Table, difference: Difference, context: MergeContext) -> DataFrame:
    """``op``, ``position`` of the new row and ``old`` record of every change."""
    new = to_frame(context.session, _thin(records, difference))
    old = context.history.state(context.session, difference.primary_key, context.vocabulary)
    same_key = [
        new[f"key{index}"].eqNullSafe(old["old"].getField(name)) for index, name in enumerate(difference.primary_key)
    ]
    joined = new.join(old, reduce(and_, same_key), "full" if difference.missing_is_retracted else "left")
    operations = _operations(difference, context.vocabulary.event_time_column)
    return joined.select(F.explode(operations).alias("op"), "position", "old")


def _thin(records: pa.Table, difference: Difference) -> pa.Table:
    """Keys, compared columns and positions, under names of our own."""
    columns: dict[str, Any] = {f"key{i}": records.column(name) for i, name in enumerate(difference.primary_key)}
    columns |= {f"value{i}": records.column(name) for i, name in enumerate(difference.compare)}
    positions = pa.arange(0, len(records))
    columns["position"] = positions
    columns["retract"] = pc.is_in(
        positions, pa.array([], pa.int64()) if difference.retract is None else difference.retract
    )
    return pa.table(columns)


def _operations(difference: Difference, event_time: str) -> Column:
    def which(*operations: OperationType) -> Column:
        numbers = [F.lit(int(each)) for each in operations]
        return F.array(*numbers).cast("array<int>")

    is_new, is_gone = F.col("old").isNull(), F.col("position").isNull()
    return (
        F.when(is_gone, which(OperationType.RETRACT))
        .when(F.col("retract"), F.when(is_new, which()).otherwise(which(OperationType.RETRACT)))
        .when(is_new, which(OperationType.APPEND))
        .when(_differs(difference, event_time), which(OperationType.CORRECT_FROM, OperationType.CORRECT_TO))
        .otherwise(which())
    )


def _differs(difference: Difference, event_time: str) -> Column:
    return reduce(
        or_, (_column_differs(i, name, event_time) for i, name in enumerate(difference.compare)), F.lit(False)
    )


def _column_differs(index: int, name: str, event_time: str) -> Column:
    new = F.col(f"value{index}")
    differs = ~new.eqNullSafe(F.col("old").getField(name))
    return differs & new.isNotNull() if name == event_time else differs


def _assembled(records: pa.Table, found: pa.Table, difference: Difference, context: MergeContext) -> pa.Table:
    operations = found.column("op").cast(pa.int32())
    takes_old = pc.is_in(operations, pa.array([OperationType.RETRACT, OperationType.CORRECT_FROM], pa.int32()))
    new = records.take(found.filter(pc.invert(takes_old)).column("position"))
    old = _old_records(found.filter(takes_old), new.schema)
    rows = pa.concat_tables([new, old]).take(_interleaved(takes_old, len(new)))
    return context.finished(*in_key_order(rows, difference.primary_key, operations))


def _interleaved(takes_old: Any, new_count: int) -> pa.Array:
    """For each change its row in a table of all new rows and then all old ones."""
    old = takes_old.to_numpy()
    return pa.array(np.where(old, new_count + np.cumsum(old) - 1, np.cumsum(~old) - 1))


def _old_records(found: pa.Table, schema: pa.Schema) -> pa.Table:
    columns: Sequence[Any] = [pc.struct_field(found.column("old"), field.name) for field in schema]
    return to_declared(
        pa.table(columns, schema.names), pa.schema([field.with_nullable(True) for field in schema])
    ).cast(schema)
