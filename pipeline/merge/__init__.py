"""From the records of a source to those that are added to the dataset: one module per family of strategies.

What comes out has an operation and an event time in every row and stands in its final order, which depends on the
values and the order of the input alone, never on how an engine divides its work (spec: Merge Strategies). Append
compares with nothing and never holds its input as a whole: it is a job of its own (``append_job.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from opendatafabric.metadata import sources
from pipeline.merge.changelog_stream import merge_changelog_stream
from pipeline.merge.context import MergeContext, Merged
from pipeline.merge.ledger import merge_ledger
from pipeline.merge.snapshot import merge_snapshot
from pipeline.merge.upsert_stream import merge_upsert_stream

__all__ = ["MergeContext", "Merged", "merge_records", "takes_op"]

_STRATEGIES: Final[dict[type, Callable[[pa.Table, Any, MergeContext], Merged]]] = {
    sources.MergeStrategyLedger: merge_ledger,
    sources.MergeStrategySnapshot: merge_snapshot,
    sources.MergeStrategyChangelogStream: merge_changelog_stream,
    sources.MergeStrategyUpsertStream: merge_upsert_stream,
}


def merge_records(records: pa.Table, strategy: sources.MergeStrategy, context: MergeContext) -> Merged:
    """What ``records``, in the order of the input, add to the dataset: op, event time and data columns, in order.

    ``records`` have an event time column, which may hold nulls, and types that agree with the dataset.

    Raises:
        MalformedSource: keys that are null or there twice where each row must be told from the others, or unknown
            operations.
        IncompatibleSchema: a column of the primary key is not there.
    """
    return _STRATEGIES[type(strategy)](records, strategy, context)


def takes_op(strategy: sources.MergeStrategy) -> bool:
    """Whether the source itself may say what each row does."""
    return isinstance(strategy, sources.MergeStrategyChangelogStream | sources.MergeStrategyUpsertStream)
