"""ChangelogStream: the source says itself what each row does; rows pass as they are, by key and operation."""

from __future__ import annotations

import pyarrow as pa

from opendatafabric.data.changelog import first_unknown_operation
from opendatafabric.errors import IncompatibleSchema, MalformedSource
from opendatafabric.metadata.sources import MergeStrategyChangelogStream
from pipeline.merge.context import MergeContext, Merged, check_key_columns, in_key_order


def merge_changelog_stream(records: pa.Table, strategy: MergeStrategyChangelogStream, context: MergeContext) -> Merged:
    """All rows; their ``op`` keeps its type."""
    name = context.vocabulary.operation_type_column
    check_key_columns(records, strategy.primary_key)
    if name not in records.column_names or not pa.types.is_integer(records.schema.field(name).type):
        raise IncompatibleSchema(f"a changelog stream needs an integer column '{name}'", hint=f"{name} INT NOT NULL")
    wrong = first_unknown_operation(records.column(name))
    if wrong is not None:
        found = records.column(name)[wrong].as_py()
        raise MalformedSource(f"row {wrong + 1} has no known operation", expected="0, 1, 2 or 3", found=found)
    records, operations = in_key_order(records, strategy.primary_key, records.column(name))
    return context.finished(records, operations)
