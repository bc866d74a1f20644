"""Turns the values of one Arrow column into the bytes its hasher is fed (arrow-digest, version 0).

Everything is little-endian: numbers raw, text and bytes behind their length, lists behind their count, booleans as one
byte 1 or 2, and a null of any type as one zero byte. No Python loop runs over rows: fixed-width columns without nulls
are hashed where they lie, everything else is interleaved by Arrow's own kernels. Which slots count as null is decided
by the caller (``struct_nulls.py``), so a mask comes with every array and the array's own nulls are not looked at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_storage import storage_array
from opendatafabric.data.type_codes import is_list

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
"""True where a slot is valid."""

_NARROW_BYTES_MAX: Final = 2**30
"""Values beyond this many bytes get 64-bit offsets: with their lengths between them they might pass 2 GiB."""
_USUAL_ROWS: Final = 65_536


def column_bytes(array: pa.Array, valid: Mask | None) -> Bytes:
    """All slots of a column one after another; ``valid`` of ``None`` means that every slot counts."""
    if len(array) == 0:
        return np.empty(0, np.uint8)
    if pa.types.is_boolean(array.type):
        return _boolean_bytes(array, valid)
    if valid is None and _is_fixed_width(array.type):
        return _raw_values(array)
    return _content(_cells(array, valid))


def own_mask(array: pa.Array) -> Mask | None:
    """The validity of the array itself; ``None`` if it has no nulls."""
    return None if array.null_count == 0 else _bits(array.buffers()[0], array.offset, len(array))


def _cells(array: pa.Array, valid: Mask | None) -> Any:
    """One piece of bytes for every slot, as an Arrow array of (large) binary without nulls."""
    if pa.types.is_boolean(array.type):
        return _fixed_cells(_boolean_bytes(array, None), 1, valid)
    if pa.types.is_fixed_size_binary(array.type):
        return _fixed_cells(_sized_values(array), array.type.byte_width + 8, valid)
    if is_list(array.type):
        return _list_cells(array, valid)
    if _is_fixed_width(array.type):
        return _fixed_cells(_raw_values(array), array.type.bit_width // 8, valid)
    return _variable_cells(array, valid)


def _boolean_bytes(array: pa.Array, valid: Mask | None) -> Bytes:
    values = _bits(array.buffers()[1], array.offset, len(array)).view(np.uint8) + np.uint8(1)
    return values if valid is None else values * valid


def _raw_values(array: pa.Array) -> Bytes:
    """The values as they lie in memory, those under nulls too."""
    width = array.type.bit_width // 8
    start = array.offset * width
    return _memory(array.buffers()[1])[start : start + len(array) * width]


def _sized_values(array: pa.Array) -> Bytes:
    """Binary of fixed width: every value behind its length."""
    width = array.type.byte_width
    sized = np.empty((len(array), 8 + width), np.uint8)
    sized[:, :8] = np.array([width], "<u8").view(np.uint8)
    sized[:, 8:] = _raw_values(array).reshape(len(array), width)
    return sized.reshape(-1)


def _fixed_cells(data: Bytes, width: int, valid: Mask | None) -> Any:
    count = len(data) // width
    cells = _binary(_even_offsets(count, width), pa.py_buffer(data), valid)
    return cells if valid is None else pc.fill_null(cells, b"\0")


def _variable_cells(array: pa.Array, valid: Mask | None) -> Any:
    """Text and bytes: every value behind its length."""
    values = _plain_binary(array)
    offsets = _offsets(values)
    return _sized_cells(offsets, values.buffers()[2], valid)


def _list_cells(array: Any, valid: Mask | None) -> Any:
    """Every list behind its count; its items are the neighbouring cells of the child array, joined."""
    offsets = _list_offsets(array)
    items = storage_array(array.values[int(offsets[0]) : int(offsets[-1])])
    inner = _cells(items, own_mask(items)) if len(items) else _binary(np.zeros(1, np.int64), pa.py_buffer(b""), None)
    places = _offsets(inner).astype(np.int64)[offsets - offsets[0]]
    return _sized_cells(places, inner.buffers()[2], valid, sizes=np.diff(offsets))


def _sized_cells(
    offsets: npt.NDArray[Any], data: pa.Buffer | None, valid: Mask | None, sizes: Offsets | None = None
) -> Any:
    """Interleave each value (or list) with its size; ``sizes`` is what stands before it if not its length in bytes."""
    lengths = (np.diff(offsets) if sizes is None else sizes).astype("<u8")
    values = _binary(offsets, data, valid)
    headers = _binary(_even_offsets(len(lengths), 8, values.type), pa.py_buffer(lengths), valid)
    if valid is not None:
        headers, values = pc.fill_null(headers, b"\0"), pc.fill_null(values, b"")
    empty = pa.scalar(b"", values.type)
    return pc.binary_join_element_wise(headers, values, empty)


def _plain_binary(array: pa.Array) -> Any:
    """Text and bytes of any layout as (large) binary; its nulls are dropped, so that hidden values stay readable."""
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        return _without_nulls(array).cast(pa.large_binary())
    return array


def _without_nulls(array: pa.Array) -> Any:
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], offset=array.offset)


def _list_offsets(array: pa.Array) -> Offsets:
    """Where the items of each list begin in ``array.values``, with one more for the end."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * np.int64(size)
    return _offsets(array).astype(np.int64)


def _offsets(array: pa.Array) -> npt.NDArray[Any]:
    """The offsets buffer of a binary, text or list array, cut to its slots."""
    types = pa.types
    wide = types.is_large_binary(array.type) or types.is_large_string(array.type) or types.is_large_list(array.type)
    dtype = np.dtype("<i8") if wide else np.dtype("<i4")
    buffer = array.buffers()[1]
    if buffer is None or buffer.size == 0:
        return np.zeros(len(array) + 1, dtype)
    return np.frombuffer(buffer, dtype, len(array) + 1, array.offset * dtype.itemsize)


def _binary(offsets: npt.NDArray[Any], data: pa.Buffer | None, valid: Mask | None) -> Any:
    """An Arrow array over existing bytes, narrow where that is safe."""
    count = len(offsets) - 1
    span = int(offsets[-1]) - int(offsets[0])
    narrow = offsets.dtype.itemsize == 4 and span + 8 * count <= _NARROW_BYTES_MAX
    fitting = offsets if narrow else offsets.astype("<i8", copy=False)
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    kind = pa.binary() if narrow else pa.large_binary()
    return pa.Array.from_buffers(
        kind, count, [bits, pa.py_buffer(fitting), pa.py_buffer(b"") if data is None else data]
    )


def _content(cells: Any) -> Bytes:
    """The bytes of all cells, which lie one after another."""
    offsets = _offsets(cells)
    return _memory(cells.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


def _even_offsets(count: int, width: int, kind: pa.DataType | None = None) -> npt.NDArray[Any]:
    """Offsets of ``count`` values of one width, narrow if they fit and nothing else is asked for."""
    wide = pa.types.is_large_binary(kind) if kind is not None else count * (width + 8) > _NARROW_BYTES_MAX
    dtype = "<i8" if wide else "<i4"
    return _first_offsets(width, dtype)[: count + 1] if count <= _USUAL_ROWS else _count_by(count, width, dtype)


def _count_by(count: int, width: int, dtype: str) -> npt.NDArray[Any]:
    return np.arange(0, (count + 1) * width, width, dtype=dtype)


@lru_cache(maxsize=32)
def _first_offsets(width: int, dtype: str) -> npt.NDArray[Any]:
    """Kept, because every batch of every column asks for them."""
    offsets = _count_by(_USUAL_ROWS, width, dtype)
    offsets.flags.writeable = False
    return offsets


def _bits(buffer: pa.Buffer, offset: int, count: int) -> Mask:
    """Unpack a bitmap; only the bytes that hold these bits are touched."""
    first, last = offset // 8, (offset + count + 7) // 8
    bits = np.unpackbits(_memory(buffer)[first:last], bitorder="little")
    return bits[offset % 8 : offset % 8 + count].view(np.bool_)


def _memory(buffer: pa.Buffer | None) -> Bytes:
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _is_fixed_width(data_type: pa.DataType) -> bool:
    """Types whose values are hashed as they lie in memory."""
    types = pa.types
    return bool(
        types.is_integer(data_type)
        or types.is_floating(data_type)
        or types.is_decimal(data_type)
        or types.is_temporal(data_type)
    )
