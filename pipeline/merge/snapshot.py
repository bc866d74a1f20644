"""Snapshot: each input is the whole state; what changed since the last one is appended, retracted, corrected."""

from __future__ import annotations

import pyarrow as pa

from opendatafabric.metadata.sources import MergeStrategySnapshot
from pipeline.merge.context import MergeContext, Merged, check_key_columns, check_unique_keys
from pipeline.merge.difference import Difference, changes


def merge_snapshot(records: pa.Table, strategy: MergeStrategySnapshot, context: MergeContext) -> Merged:
    """The changes between the state and ``records``; only ``compareColumns`` tell whether a record changed."""
    check_key_columns(records, strategy.primary_key)
    check_key_columns(records, strategy.compare_columns or ())
    check_unique_keys(records, strategy.primary_key)
    compare = strategy.compare_columns or tuple(
        name for name in records.column_names if name not in strategy.primary_key
    )
    return changes(records, Difference(strategy.primary_key, compare, missing_is_retracted=True), context)
