"""Whether values differ, as Spark SQL tells by ``<=>``: nulls and NaN equal themselves, -0.0 equals 0.0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


def differing(one: Any, other: Any) -> Mask:
    """Of each row whether the two columns, of types of the same values, have different ones."""
    one, other = _combined(one), _combined(other)
    valid, other_valid = _mask(pc.is_valid(one)), _mask(pc.is_valid(other))
    differs: Mask = valid != other_valid
    both = np.flatnonzero(valid & other_valid)
    if len(both):
        differs[both] = _values_differ(_picked(one, both), _picked(other, both))
    return differs


def _values_differ(one: Any, other: Any) -> Mask:
    """The same where nothing is null."""
    types = pa.types
    if types.is_dictionary(one.type) or types.is_dictionary(other.type):
        return differing(_decoded(one), _decoded(other))
    if types.is_struct(one.type):
        differs = np.zeros(len(one), bool)
        for index in range(one.type.num_fields):
            differs |= differing(pc.struct_field(one, [index]), pc.struct_field(other, [index]))
        return differs
    if types.is_nested(one.type):
        return _lists_differ(one, other)
    if types.is_floating(one.type):
        one, other = one.cast(pa.float64()), other.cast(pa.float64())
        return _mask(pc.not_equal(one, other)) & ~(_mask(pc.is_nan(one)) & _mask(pc.is_nan(other)))
    return _mask(pc.not_equal(one, other if other.type == one.type else other.cast(one.type)))


def _lists_differ(one: Any, other: Any) -> Mask:
    lengths, other_lengths = (_numbers(pc.list_value_length(each)) for each in (one, other))
    differs: Mask = lengths != other_lengths
    same = np.flatnonzero(~differs & (lengths > 0))
    if len(same):
        items = differing(_picked(one, same).flatten(), _picked(other, same).flatten())
        starts = np.concatenate([[0], np.cumsum(lengths[same])[:-1]])
        differs[same] = np.logical_or.reduceat(items, starts)
    return differs


def _picked(column: Any, rows: Any) -> Any:
    return column if len(rows) == len(column) else column.take(pa.array(rows))


def _decoded(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _combined(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _mask(column: Any) -> Mask:
    found: Mask = _numbers(column).astype(bool)
    return found
