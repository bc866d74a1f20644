"""Turns columns as pyarrow decodes them (by Parquet types alone) into the types that are hashed.

Bits are kept wherever the reference reinterprets them; the only real conversion is days to milliseconds. Large and view
layouts of text, bytes and lists are hashed alike and are left as they are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from opendatafabric.data.type_codes import LeafColumn, is_list
from opendatafabric.errors import MalformedData

_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def as_hashed(array: pa.Array, column: LeafColumn, *, int96: bool = False) -> pa.Array:
    """The array with the values of ``column.type``; ``int96`` says that its timestamps are stored in the legacy form.

    Raises:
        MalformedData: text that is not UTF-8, lists of another length than declared, decimals wider than their type.
    """
    if is_list(column.type):
        return _list_as_hashed(array, column, int96)
    if pa.types.is_string(array.type):
        array.validate(full=True)
        return array
    if array.type == column.type:
        return array
    if pa.types.is_decimal(column.type):
        return _resized_decimals(array, column)
    return _in_unit(array, column.type) if int96 else _reinterpreted(array, column.type)


def _list_as_hashed(array: Any, column: LeafColumn, int96: bool) -> pa.Array:
    """The same lists over converted items."""
    data_type: Any = column.type
    items = as_hashed(array.values, LeafColumn(column.path + "[]", data_type.value_type), int96=int96)
    if pa.types.is_fixed_size_list(data_type):
        return _fixed_size_lists(array, items, column)
    if items is array.values:
        return array
    kind = pa.large_list(items.type) if pa.types.is_large_list(array.type) else pa.list_(items.type)
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=[items])


def _fixed_size_lists(array: Any, items: Any, column: LeafColumn) -> pa.Array:
    """Lists of one length; what is null or empty is made of nulls, as the reference's decoder fills it up."""
    size = column.type.list_size
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    lengths = np.diff(offsets)
    if ((lengths != 0) & (lengths != size)).any():
        raise MalformedData(f"column '{column.path}' has lists of other lengths than declared", expected=size)
    places = (offsets[:-1, None] + np.arange(size)).reshape(-1)
    filled = items.take(pa.array(places, mask=np.repeat(lengths == 0, size)))
    return pa.FixedSizeListArray.from_arrays(filled, size, mask=array.is_null() if array.null_count else None)


def _in_unit(array: pa.Array, target: Any) -> pa.Array:
    """Timestamps in a coarser unit, rounded down."""
    found: Any = array.type
    divisor = _PER_SECOND[found.unit] // _PER_SECOND[target.unit]
    values = np.frombuffer(array.buffers()[1], np.int64, len(array), array.offset * 8) // divisor
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(values, mask=mask).view(target)


def _reinterpreted(array: Any, target: pa.DataType) -> pa.Array:
    """Integers as times, times in another zone; the layouts of text and bytes do not matter."""
    if pa.types.is_date32(array.type) and pa.types.is_date64(target):
        return array.cast(target)
    if pa.types.is_int32(array.type) and pa.types.is_timestamp(target):
        return array.cast(pa.int64()).view(target)
    if pa.types.is_integer(array.type) or pa.types.is_timestamp(array.type):
        return array.view(target)
    return array


def _resized_decimals(array: pa.Array, column: LeafColumn) -> pa.Array:
    """The unscaled integers in another width; precision and scale are taken over without looking at the values."""
    found, wanted = array.type.bit_width // 8, column.type.bit_width // 8
    raw = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * found : (array.offset + len(array)) * found]
    values = raw.reshape(len(array), found)
    resized = np.empty((len(array), wanted), np.uint8)
    resized[:, : min(found, wanted)] = values[:, :wanted]
    if wanted > found:
        resized[:, found:] = np.where(values[:, -1:] >= 0x80, np.uint8(0xFF), np.uint8(0))
    valid = None if array.null_count == 0 else array.is_valid()
    bits = None if valid is None else pa.py_buffer(np.packbits(valid.to_numpy(zero_copy_only=False), bitorder="little"))
    return pa.Array.from_buffers(column.type, len(array), [bits, pa.py_buffer(resized.reshape(-1))])
