"""Append: every row is new. Ledger: every row whose key never occurred is new; nothing ever changes."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.metadata.sources import MergeStrategyAppend, MergeStrategyLedger
from pipeline.carried import column_of, to_frame
from pipeline.merge.context import MergeContext, check_key_columns, in_time_order

_BROADCAST_ROWS_MAX: Final = 1_000_000
"""Keys that fit into the memory of every thread."""


def merge_append(records: pa.Table, _: MergeStrategyAppend, context: MergeContext) -> pa.Table:
    """All rows, by event time."""
    times = context.filled(records.column(context.vocabulary.event_time_column))
    return context.finished(in_time_order(records, times))


def merge_ledger(records: pa.Table, strategy: MergeStrategyLedger, context: MergeContext) -> pa.Table:
    """The rows with a new key, by event time. Keys may repeat within the input; one with a null is always new."""
    check_key_columns(records, strategy.primary_key)
    if context.history and len(records):
        records = records.take(_new_positions(records, strategy.primary_key, context))
    return merge_append(records, MergeStrategyAppend(), context)


def _new_positions(records: pa.Table, primary_key: tuple[str, ...], context: MergeContext) -> pa.Array:
    """Of rows whose key the dataset does not have. Where the input is small, the history is read without a shuffle."""
    names = [f"key{index}" for index in range(len(primary_key))]
    positions = pa.arange(0, len(records))
    keyed = pa.table([*(records.column(name) for name in primary_key), positions], [*names, "position"])
    given = to_frame(context.session, keyed)
    given = given.hint("broadcast" if len(records) <= _BROADCAST_ROWS_MAX else "shuffle_hash")
    known = context.history.columns(context.session, primary_key).toDF(*(f"known_{name}" for name in names))
    same = [column_of(given, name) == column_of(known, f"known_{name}") for name in names]
    found = known.join(given, same).select("position").distinct().toArrow().column(0)
    return positions.filter(pc.invert(pc.is_in(positions, found)))
