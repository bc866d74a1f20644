"""Types of JSON members, from the first objects: numbers are floats if any has a fraction, other mixes are text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def infer_schema(objects: Iterable[Any]) -> pa.Schema:
    """A column for each member that occurs, in the order in which they occur first."""
    return pa.schema(list(_struct(each for each in objects if isinstance(each, dict))))


def _struct(objects: Iterable[dict[str, Any]]) -> Any:
    values: dict[str, list[Any]] = {}
    for each in objects:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    return pa.struct([(name, _type(found)) for name, found in values.items()])


def _type(values: list[Any]) -> pa.DataType:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {dict}:
        return _struct(present)
    if kinds == {list}:
        return pa.list_(_type([item for value in present for item in value]))
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()
