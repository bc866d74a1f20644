"""The order of rows that a query gives in no order of its own: by event time, then by every other column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.errors import InvalidQuery, MalformedData
from pipeline.projection.keys import combined, encode


def in_canonical_order(rows: pa.Table, event_time: str) -> pa.Table:
    """The rows sorted; such as are equal in all columns are the same anyway.

    Raises:
        InvalidQuery: a column is of a type that has no order.
    """
    names = [event_time, *(name for name in rows.column_names if name != event_time)]
    keys = pa.table([_sortable(rows.column(name)) for name in names], [f"{place:06}" for place in range(len(names))])
    order = pc.sort_indices(keys, [(name, "ascending", "at_start") for name in keys.column_names])
    return rows.take(order)


def _sortable(column: Any) -> Any:
    """The column, or bytes in its place that are equal exactly where its values are."""
    if not pa.types.is_nested(column.type):
        return column
    try:
        return encode([combined(column)], len(column))
    except (MalformedData, pa.ArrowException):
        raise InvalidQuery(
            f"the query gives a column of {column.type}, by which rows cannot be put in order",
            hint="give its entries as a list, or as text: to_json(…)",
        ) from None
