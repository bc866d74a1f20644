"""Append: every row is new. Ledger: every row whose key never occurred is new; nothing ever changes."""

from __future__ import annotations

import pyarrow as pa

from opendatafabric.metadata.sources import MergeStrategyAppend, MergeStrategyLedger
from pipeline.merge.context import MergeContext, check_key_columns, in_time_order
from pipeline.projection.keys import keys_of


def merge_append(records: pa.Table, _: MergeStrategyAppend, context: MergeContext) -> pa.Table:
    """All rows, by event time."""
    times = context.filled(records.column(context.vocabulary.event_time_column))
    return context.finished(in_time_order(records, times))


def merge_ledger(records: pa.Table, strategy: MergeStrategyLedger, context: MergeContext) -> pa.Table:
    """The rows with a new key, by event time. Keys may repeat within the input; one with a null is always new."""
    check_key_columns(records, strategy.primary_key)
    if context.history is not None and len(records):
        keys = keys_of(records, strategy.primary_key)
        records = records.filter(pa.array(keys.has_null | ~context.history.known(keys)))
    return merge_append(records, MergeStrategyAppend(), context)
