"""Preprocess queries of the engine ``datafusion``.

A query that goes row by row is run on one piece of the input after the other, any other on all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.datafusion_steps import collected, planned_steps, told_as_ours

_ROW_BY_ROW: Final = {"Projection", "Filter", "SubqueryAlias", "TableScan"}
"""Nodes of plans whose result for a row does not depend on other rows."""


def run_queries(pieces: Iterator[pa.Table], steps: Sequence[SqlQueryStep]) -> Iterator[pa.Table]:
    """The result of the last step; errors as ``run_preprocess``."""
    first = next(pieces)
    with told_as_ours():
        goes_row_by_row = _goes_row_by_row(planned_steps({"input": first.slice(0, 0)}, steps, for_the_plan=True))
    pieces = chain([first], pieces)
    for piece in pieces if goes_row_by_row else iter([pa.concat_tables(pieces)]):
        with told_as_ours():
            result = collected(planned_steps({"input": piece}, steps))
        yield result


def _goes_row_by_row(frame: Any) -> bool:
    """By the names that begin the lines of its plan. A text with line breaks in the query at worst says no."""
    plan = frame.logical_plan().display_indent()
    names = [line.split(":")[0].strip() for line in plan.splitlines()]
    return names.count("TableScan") == 1 and set(names) <= _ROW_BY_ROW
