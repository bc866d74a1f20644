"""What lies under the nulls of a column that the reference has decoded from Parquet: part of some hashes.

Its decoder reads the non-null values of a stretch (the part of a batch that lies in one row group) into a buffer and
then spreads them out from the end. Where a slot is null, the buffer keeps what the decoder left: the value with the
number of that slot's position, counting non-null values of the stretch from 0, or zero beyond the last. Text and bytes
are spread by offsets and are empty; so are lists, and lists of fixed length are made of nulls (``parquet_values.py``).
See ``struct_nulls.py`` for when this matters at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.column_bytes import Mask
from opendatafabric.data.parquet_types import ParquetLeaf
from opendatafabric.data.struct_nulls import Leaf
from opendatafabric.data.type_codes import is_list

_INT96_ZERO_DAY: Final = -2_440_588
"""Day 0 of the Julian calendar in days since 1970: what twelve zero bytes mean."""
_PER_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}

Stretches = Sequence[tuple[int, int]]
"""Rows [start, end) of a batch, one pair for each row group it touches."""


def with_decoded_nulls(leaf: Leaf, column: ParquetLeaf, stretches: Stretches) -> Leaf:
    """The leaf with values under those of its nulls that are hashed as values."""
    present = leaf.present
    if present is None or (leaf.valid is not None and not (leaf.valid & ~present).any()):
        return leaf
    return Leaf(_filled(leaf.array, present, column, stretches), leaf.valid, None)


def _filled(array: pa.Array, present: Mask, column: ParquetLeaf, stretches: Stretches) -> pa.Array:
    data_type = column.column.type
    types = pa.types
    if is_list(data_type):
        return array
    taken = _decoder_slots(present, stretches)
    if types.is_string_view(data_type) or types.is_binary_view(data_type):
        return pc.fill_null(array.take(pa.array(taken, mask=taken < 0)), b"" if types.is_binary(array.type) else "")
    if types.is_boolean(data_type):
        return pa.array(_taken(array.fill_null(False).to_numpy(zero_copy_only=False).view(np.uint8), taken, 0) > 0)
    if types.is_binary(array.type) or types.is_string(array.type):
        return pc.fill_null(array, b"" if types.is_binary(array.type) else "")
    return _fixed_width(array, taken, column)


def _decoder_slots(present: Mask, stretches: Stretches) -> Any:
    """For every slot the number of the slot whose value the decoder has there, −1 for zero."""
    taken = np.arange(len(present), dtype=np.int64)
    for start, end in stretches:
        values = start + np.flatnonzero(present[start:end])
        nulls = np.flatnonzero(~present[start:end])
        known = nulls[nulls < len(values)]
        taken[start + known] = values[known]
        taken[start + nulls[len(known) :]] = -1
    return taken


def _fixed_width(array: pa.Array, taken: Any, column: ParquetLeaf) -> pa.Array:
    width = array.type.bit_width // 8
    raw = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * width : (array.offset + len(array)) * width]
    zero = np.frombuffer(_zero(column, width), np.uint8)
    values = _taken(raw.reshape(len(array), width), taken, zero)
    return pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(values.reshape(-1))])


def _taken(values: Any, taken: Any, zero: Any) -> Any:
    found = values[taken]
    found[taken < 0] = zero
    return found


def _zero(column: ParquetLeaf, width: int) -> bytes:
    if not column.is_int96:
        return bytes(width)
    data_type: Any = column.column.type
    wrapped = (_INT96_ZERO_DAY * _PER_DAY[data_type.unit]) % 2**64
    return wrapped.to_bytes(width, "little")
