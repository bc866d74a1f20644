"""Ledger: every row whose key never occurred is new; nothing ever changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from opendatafabric.metadata.sources import MergeStrategyLedger
from pipeline.merge.context import MergeContext, Merged, check_key_columns, time_order
from pipeline.projection.keys import Keys, keys_of


def merge_ledger(records: pa.Table, strategy: MergeStrategyLedger, context: MergeContext) -> Merged:
    """The rows with a new key, by event time. Keys may repeat within the input; one with a null is always new."""
    check_key_columns(records, strategy.primary_key)
    if context.history is None:
        return _by_time(records, None, context)
    keys = keys_of(records, strategy.primary_key)
    new = np.flatnonzero(keys.has_null | ~context.history.known(keys))
    if len(new) < len(records):
        records, keys = records.take(pa.array(new)), keys.at(new)
    event_time = context.vocabulary.event_time_column
    is_filled = event_time in strategy.primary_key and records.column(event_time).null_count > 0
    return _by_time(records, None if is_filled else keys, context)


def _by_time(records: pa.Table, keys: Keys | None, context: MergeContext) -> Merged:
    order = time_order(context.filled(records.column(context.vocabulary.event_time_column)))
    if order is not None:
        records, keys = records.take(pa.array(order)), None if keys is None else keys.at(order)
    return context.finished(records, keys=keys)
