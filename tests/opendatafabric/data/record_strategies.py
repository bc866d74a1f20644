"""Random records for Hypothesis, and a slow, plain reference of the logical hash to hold the fast one against."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

_NUMBERS = {
    "<b": pa.int8(),
    "<H": pa.uint16(),
    "<i": pa.int32(),
    "<q": pa.int64(),
    "<Q": pa.uint64(),
    "<f": pa.float32(),
    "<d": pa.float64(),
}
FORMATS = {data_type: code for code, data_type in _NUMBERS.items()}
_CODES = {
    pa.int8(): struct.pack("<HBQ", 1, 1, 8),
    pa.uint16(): struct.pack("<HBQ", 1, 0, 16),
    pa.int32(): struct.pack("<HBQ", 1, 1, 32),
    pa.int64(): struct.pack("<HBQ", 1, 1, 64),
    pa.uint64(): struct.pack("<HBQ", 1, 0, 64),
    pa.float32(): struct.pack("<HQ", 2, 32),
    pa.float64(): struct.pack("<HQ", 2, 64),
}
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3))

PRIMITIVES = st.sampled_from([*FORMATS, pa.bool_(), *_TEXTS, *_BYTES])
TYPES = st.recursive(
    PRIMITIVES,
    lambda inner: st.one_of(
        st.builds(pa.list_, inner), st.builds(pa.large_list, inner), st.builds(pa.list_, inner, st.integers(1, 3))
    ),
    max_leaves=2,
)


@st.composite
def values_of(draw: st.DrawFn, data_type: Any) -> Any:
    """A value of the type, or None."""
    if draw(st.integers(0, 4)) == 0:
        return None
    if data_type in FORMATS:
        if pa.types.is_floating(data_type):
            return draw(st.floats(width=data_type.bit_width, allow_nan=False))
        info = np.iinfo(data_type.to_pandas_dtype())
        return draw(st.integers(int(info.min), int(info.max)))
    if pa.types.is_boolean(data_type):
        return draw(st.booleans())
    if data_type in _TEXTS:
        return draw(st.text(max_size=20))
    if data_type in _BYTES:
        size = data_type.byte_width if pa.types.is_fixed_size_binary(data_type) else None
        return draw(st.binary(min_size=size or 0, max_size=size or 20))
    size = data_type.list_size if pa.types.is_fixed_size_list(data_type) else None
    return draw(st.lists(values_of(data_type.value_type), min_size=size or 0, max_size=size or 4))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table of one to three columns without structs, some rows, any chunks."""
    count = draw(st.integers(0, 30))
    columns = draw(st.lists(TYPES, min_size=1, max_size=3))
    arrays = [
        pa.array(draw(st.lists(values_of(data_type), min_size=count, max_size=count)), data_type)
        for data_type in columns
    ]
    return pa.table(arrays, [draw(st.text(max_size=5)) for _ in columns])


def plain_hash(table: pa.Table) -> str:
    """The logical hash by the letter of its definition, value by value; flat columns only."""
    state = hashlib.sha3_256()
    for field in table.schema:
        name = field.name.encode()
        state.update(struct.pack("<Q", len(name)) + name + bytes(8))
    for field, column in zip(table.schema, table.columns, strict=True):
        leaf = hashlib.sha3_256(plain_code(field.type))
        for value in column.to_pylist():
            leaf.update(plain_bytes(field.type, value))
        state.update(leaf.digest())
    return "f9680c00120" + state.hexdigest()


def plain_code(data_type: Any) -> bytes:
    if data_type in _CODES:
        return _CODES[data_type]
    if pa.types.is_boolean(data_type):
        return b"\5\0"
    if data_type in _TEXTS:
        return b"\4\0"
    return b"\3\0" if data_type in _BYTES else b"\x0b\0" + plain_code(data_type.value_type)


def plain_bytes(data_type: Any, value: Any) -> bytes:
    if value is None:
        return b"\0"
    if data_type in FORMATS:
        return struct.pack(FORMATS[data_type], value)
    if pa.types.is_boolean(data_type):
        return b"\2" if value else b"\1"
    if isinstance(value, list):
        return struct.pack("<Q", len(value)) + b"".join(plain_bytes(data_type.value_type, item) for item in value)
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data
