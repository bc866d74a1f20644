"""Primary keys as bytes that are equal exactly where the keys are, and the numbers by which they are sorted.

Equal means what it means in Spark SQL: NaN equals NaN, -0.0 equals 0.0, and a null equals a null (a strategy for which
nulls never match does not ask for them). The bytes of two keys can only be compared if their columns have the same
types; widths and layouts of text and bytes make no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_storage import storage_array
from opendatafabric.errors import MalformedData

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_WORD: Final = 8
_HASHED_TOGETHER: Final = 16_384
"""As many as the nearest caches of a processor hold."""
_LONG_BYTES: Final = 256
"""Keys over this length are hashed one by one; there a loop over their words would take longer."""
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_EMPTY: Final = pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(bytes(16)), pa.py_buffer(b"")])[0]
"""Made of buffers: to make it of a value has Arrow load pandas wherever it is installed, which takes a second."""


@dataclass(frozen=True, slots=True)
class Keys:
    """One key a row: ``encoded`` bytes, their ``hashes``, and whether any part ``has_null``."""

    encoded: pa.Array
    hashes: Hashes
    has_null: npt.NDArray[np.bool_]

    def at(self, rows: Rows) -> Keys:
        """Those of some rows."""
        return Keys(self.encoded.take(pa.array(rows)), self.hashes[rows], self.has_null[rows])


def keys_of(records: pa.Table, primary_key: Sequence[str]) -> Keys:
    """The keys of all rows.

    Raises:
        MalformedData: a column of a type that has no order or equality here.
    """
    columns = [combined(records.column(name)) for name in primary_key]
    encoded = encode(columns, len(records))
    has_null = np.zeros(len(records), bool)
    for column in columns:
        has_null |= pc.is_null(column).to_numpy(zero_copy_only=False)
    return Keys(encoded, hashes_of(encoded), has_null)


def encode(columns: Sequence[Any], rows: int) -> pa.Array:
    """Each row as one value: what has a fixed width first, lengths among it, then texts and bytes."""
    fixed: list[npt.NDArray[np.uint8]] = []
    tails: list[Any] = []
    for column in columns:
        _add_column(column, fixed, tails)
    matrix = np.hstack([np.empty((rows, 0), np.uint8), *fixed])
    width = matrix.shape[1]
    offsets = np.arange(rows + 1, dtype=np.int64) * width
    head = pa.Array.from_buffers(pa.large_binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(matrix)])
    return pc.binary_join_element_wise(head, *tails, _EMPTY) if tails else head


def hashes_of(encoded: Any) -> Hashes:
    """A number of each key, the same on any machine. It only spreads keys: nothing depends on it being unique."""
    offsets = np.frombuffer(encoded.buffers()[1], np.int64)[encoded.offset : encoded.offset + len(encoded) + 1]
    data = np.frombuffer(encoded.buffers()[2] or b"", np.uint8)
    hashes = np.empty(len(encoded), np.uint64)
    for begin in range(0, len(hashes), _HASHED_TOGETHER):
        end = min(begin + _HASHED_TOGETHER, len(hashes))
        hashes[begin:end] = _hashes(offsets[begin : end + 1], data)
    return hashes


def last_rows(hashes: Hashes, encoded: Any) -> Rows:
    """Of each key its last row, in the order of the hashes."""
    order: Rows = np.argsort(hashes)
    same_as_next = hashes[order[1:]] == hashes[order[:-1]]
    if not same_as_next.any():
        return order
    is_clumped = np.zeros(len(order), bool)
    is_clumped[1:] |= same_as_next
    is_clumped[:-1] |= same_as_next
    places = np.flatnonzero(is_clumped)
    candidates = pa.table({"key": encoded.take(pa.array(order[places])), "row": order[places]})
    lasts = candidates.group_by("key").aggregate([("row", "max")])["row_max"].to_numpy()
    is_clumped[places[np.isin(order[places], lasts)]] = False
    return order[~is_clumped]


def rows_of(keys: Keys, rows: Rows, *, among: Any, among_hashes: Hashes) -> Rows:
    """Of each of the ``rows`` where its key is ``among`` others, which are there once, by their hashes; else -1.

    Bytes of keys are looked at only where hashes are equal.
    """
    found: Rows = np.full(len(rows), -1, np.int64)
    if not len(among_hashes):
        return found
    hashes = keys.hashes[rows]
    places = np.minimum(np.searchsorted(among_hashes, hashes), len(among_hashes) - 1)
    asked = np.flatnonzero(among_hashes[places] == hashes)
    if not len(asked):
        return found
    encoded = keys.encoded.take(pa.array(rows[asked]))
    same = pc.equal(encoded, combined(among.take(pa.array(places[asked])))).to_numpy(zero_copy_only=False)
    found[asked[same]] = places[asked[same]]
    if not same.all():
        rest = pc.index_in(encoded.filter(pa.array(~same)), combined(among))
        found[asked[~same]] = pc.fill_null(rest, -1).to_numpy()
    return found


def combined(column: Any) -> Any:
    """The column in one piece."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def _hashes(offsets: Any, data: Any) -> Hashes:
    """Of the keys between neighbouring ``offsets``."""
    begins, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    padded = np.concatenate([data[offsets[0] : offsets[-1]], np.zeros(_WORD, np.uint8)])
    words: Any = np.ndarray((len(padded) - _WORD + 1,), np.dtype("<u8"), padded, strides=(1,))
    hashes: Hashes = lengths.astype(np.uint64)
    shortest, longest = int(lengths.min(initial=_LONG_BYTES)), int(lengths.max(initial=0))
    for at in range(0, min(longest, _LONG_BYTES), _WORD):
        rows = slice(None) if shortest > at else np.flatnonzero(lengths > at)
        hashes[rows] = _mixed(hashes[rows] ^ _word_at(words, begins[rows] + at, lengths[rows] - at))
    for row in np.flatnonzero(lengths > _LONG_BYTES):
        text = padded[begins[row] : begins[row] + lengths[row]].tobytes()
        hashes[row] = int.from_bytes(hashlib.blake2b(text, digest_size=_WORD).digest(), "little")
    return hashes


def _add_column(column: Any, fixed: list[npt.NDArray[np.uint8]], tails: list[Any]) -> None:
    """One byte that says whether there is a value, then the value; zeros where there is none."""
    column, types = _plain(column), pa.types
    data_type = column.type
    fixed.append(pc.is_valid(column).to_numpy(zero_copy_only=False).astype(np.uint8)[:, np.newaxis])
    if types.is_null(data_type):
        return
    if types.is_struct(data_type):
        for child in column.flatten():
            _add_column(child, fixed, tails)
    elif types.is_list(data_type) or types.is_large_list(data_type) or types.is_fixed_size_list(data_type):
        _add_bytes(_joined_items(column), fixed, tails)
    elif _is_text_or_bytes(data_type):
        _add_bytes(column.cast(pa.large_binary()), fixed, tails)
    else:
        fixed.append(_numbers(column))


def _plain(column: Any) -> Any:
    """The values themselves, however they are held or called."""
    column = storage_array(column)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _add_bytes(column: Any, fixed: list[npt.NDArray[np.uint8]], tails: list[Any]) -> None:
    column = pc.fill_null(column, _EMPTY)
    lengths = pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.uint32)
    fixed.append(lengths[:, np.newaxis].view(np.uint8))
    tails.append(column)


def _joined_items(column: Any) -> Any:
    """The items of each list, one behind the other: each says itself where it ends."""
    items = column.flatten()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, encode([items], len(items))), _EMPTY)


def _numbers(column: Any) -> npt.NDArray[np.uint8]:
    """The bytes of values of one width, those that count as equal made the same."""
    types, data_type = pa.types, column.type
    if types.is_floating(data_type):
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
        values[np.isnan(values)] = np.nan
        values[pc.is_null(column).to_numpy(zero_copy_only=False)] = 0.0
        return _as_bytes(values)
    if types.is_boolean(data_type):
        column = column.cast(pa.uint8())
    elif types.is_date64(data_type):
        column = column.cast(pa.date32(), safe=False).view(pa.int32())
    elif types.is_decimal(data_type):
        return _decimals(column)
    elif types.is_temporal(data_type) and not types.is_interval(data_type):
        column = column.view(pa.int32() if data_type.bit_width == 32 else pa.int64())
    elif not types.is_integer(data_type):
        raise MalformedData(f"the primary key cannot be compared: it has values of type {data_type}")
    return _as_bytes(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))


def _decimals(column: Any) -> npt.NDArray[np.uint8]:
    width = column.type.bit_width // 8
    raw = np.frombuffer(column.buffers()[1], np.uint8)
    values = raw[column.offset * width : (column.offset + len(column)) * width].reshape(len(column), width).copy()
    values[pc.is_null(column).to_numpy(zero_copy_only=False)] = 0
    return values


def _as_bytes(values: Any) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values)[:, np.newaxis].view(np.uint8)


def _is_text_or_bytes(data_type: Any) -> bool:
    types = pa.types
    text = types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type)
    plain = types.is_binary(data_type) or types.is_large_binary(data_type) or types.is_binary_view(data_type)
    return bool(text or plain or types.is_fixed_size_binary(data_type))


def _word_at(words: Any, places: Any, left: Any) -> Any:
    """Eight bytes as a number, without those that belong to the next key."""
    found = words[places]
    short = left < _WORD
    if short.any():
        found[short] &= (np.uint64(1) << (left[short].astype(np.uint64) * np.uint64(8))) - np.uint64(1)
    return found


def _mixed(values: Any) -> Any:
    for multiplier, shift in zip(_MULTIPLIERS, (30, 27), strict=True):
        values ^= values >> np.uint64(shift)
        values *= multiplier
    values ^= values >> np.uint64(31)
    return values
