"""Inputs that a transform calls temporal tables: queries see versions, with the times between which they held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import TemporalTable
from pipeline.epochs.records import Integers, data_schema
from pipeline.transform.request import TransformRequest

VALID_FROM: Final = "valid_from"
VALID_TO: Final = "valid_to"
"""The columns that versions have besides those of their records."""


def temporal_tables(request: TransformRequest) -> dict[str, TemporalTable]:
    """By the inputs that they are, in lower case.

    Raises:
        InvalidQuery: there is no such input, it has no such key, or it has columns of the names that versions get.
    """
    inputs = {each.alias.lower(): data_schema(each).names for each in request.inputs}
    tables = {each.name.lower(): each for each in request.transform.transform.temporal_tables or ()}
    for name, table in tables.items():
        if name not in inputs:
            raise InvalidQuery(f"the temporal table '{table.name}' is no input", expected=", ".join(inputs))
        _check_columns(table, inputs[name])
    return tables


def _check_columns(table: TemporalTable, names: list[str]) -> None:
    missing = sorted({*table.primary_key} - {*names})
    if missing or not table.primary_key:
        raise InvalidQuery(
            f"the primary key of the temporal table '{table.name}' is none of its columns",
            expected=", ".join(names),
            found=", ".join(missing),
        )
    taken = {VALID_FROM, VALID_TO} & {name.lower() for name in names}
    if taken:
        raise InvalidQuery(
            f"the temporal table '{table.name}' has a column '{min(taken)}' of its own",
            hint="derive a dataset from it that calls it otherwise",
        )


def empty_tables(request: TransformRequest, tables: Mapping[str, TemporalTable]) -> list[pa.Table]:
    """All inputs as queries see them, without records."""
    nothing = np.empty(0, np.int64)
    found = [data_schema(each).empty_table() for each in request.inputs]
    for index, each in enumerate(request.inputs):
        if each.alias.lower() in tables:
            found[index] = with_validity(found[index], nothing, nothing)
    return found


def with_validity(records: pa.Table, valid_from: Integers, valid_to: Integers) -> pa.Table:
    """Versions as queries see them."""
    for name, times in ((VALID_FROM, valid_from), (VALID_TO, valid_to)):
        records = records.append_column(name, pa.array(times, pa.int64()).cast(TIMESTAMP))
    return records
