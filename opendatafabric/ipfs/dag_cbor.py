"""DAG-CBOR as headers of CARs and IPNS records use it: numbers, bytes, text, lists, maps and CIDs (DAG-CBOR
specification).

Reading takes the strict form only (shortest numbers, sorted keys without repetition, no indefinite lengths, no other
tags), so that what was read is written again as the same bytes. Floating point never occurs here and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from opendatafabric.errors import LimitExceeded, MalformedDag, MalformedIdentifier
from opendatafabric.ipfs.cid import Cid
from opendatafabric.limits import CBOR_DEPTH_MAX, CBOR_VALUES_MAX

Value: TypeAlias = bool | int | bytes | str | Cid | Sequence["Value"] | Mapping[str, "Value"] | None

_CID_TAG: Final = 42
_SIMPLE: Final[dict[int, bool | None]] = {20: False, 21: True, 22: None}
_NUMBER_BYTES: Final = {24: 1, 25: 2, 26: 4, 27: 8}


def encode_dag_cbor(value: Value) -> bytes:
    """The one form of ``value``."""
    if value is None or isinstance(value, bool):
        return bytes([0xE0 | next(code for code, known in _SIMPLE.items() if known is value)])
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes | str):
        return _encode_bytes(value)
    if isinstance(value, Cid):
        return _head(6, _CID_TAG) + _encode_bytes(b"\0" + bytes(value))
    if isinstance(value, Mapping):
        return _encode_map(value)
    return _head(4, len(value)) + b"".join(map(encode_dag_cbor, value))


def decode_dag_cbor(data: bytes) -> Value:
    """Read one value that fills ``data``.

    Raises:
        MalformedDag: not strict DAG-CBOR.
        LimitExceeded: too deep, or too many values.
    """
    reader = _Reader(data)
    value = reader.value(0)
    if reader.position != len(data):
        raise MalformedDag("CBOR is followed by more bytes", expected=reader.position, found=len(data))
    return value


def _encode_bytes(value: bytes | str) -> bytes:
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    encoded = value.encode()
    return _head(3, len(encoded)) + encoded


def _encode_map(value: Mapping[str, Value]) -> bytes:
    keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
    return _head(5, len(keys)) + b"".join(_encode_bytes(key) + encode_dag_cbor(value[key]) for key in keys)


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    for code, size in _NUMBER_BYTES.items():
        if number < 1 << 8 * size:
            return bytes([major << 5 | code]) + number.to_bytes(size, "big")
    raise ValueError(f"{number} is no number of CBOR")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._values = 0
        self.position = 0

    def value(self, depth: int) -> Value:
        self._values += 1
        if depth > CBOR_DEPTH_MAX or self._values > CBOR_VALUES_MAX:
            raise LimitExceeded(
                "CBOR is too deep or too long", expected=f"{CBOR_DEPTH_MAX} levels, {CBOR_VALUES_MAX} values"
            )
        major, number = self._head()
        return self._longer(major, number, depth) if major in {4, 5, 6} else self._plain(major, number)

    def _plain(self, major: int, number: int) -> Value:
        if major < 2:
            return number if major == 0 else -1 - number
        if major == 2:
            return self._take(number)
        return self._text(number) if major == 3 else self._simple(number)

    def _longer(self, major: int, number: int, depth: int) -> Value:
        if major == 4:
            return [self.value(depth + 1) for _ in range(number)]
        return self._map(number, depth) if major == 5 else self._cid(number, depth)

    def _head(self) -> tuple[int, int]:
        first = self._take(1)[0]
        major, code = first >> 5, first & 31
        if code < 24:
            return major, code
        if code not in _NUMBER_BYTES or major == 7:
            raise MalformedDag(f"CBOR has an item of a kind that DAG-CBOR lacks: {first:#x}")
        size = _NUMBER_BYTES[code]
        number = int.from_bytes(self._take(size), "big")
        if number < (24 if size == 1 else 1 << 4 * size):
            raise MalformedDag("a number in CBOR is longer than it needs to be")
        return major, number

    def _map(self, count: int, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        last = (-1, b"")
        for _ in range(count):
            major, length = self._head()
            if major != 3:
                raise MalformedDag("a key in CBOR is no text")
            key = self._text(length)
            rank = (length, key.encode())
            if rank <= last:
                raise MalformedDag("keys in CBOR are out of order or repeated", found=key[:100])
            last = rank
            found[key] = self.value(depth + 1)
        return found

    def _cid(self, tag: int, depth: int) -> Cid:
        inner = self.value(depth + 1) if tag == _CID_TAG else None
        if not isinstance(inner, bytes) or inner[:1] != b"\0":
            raise MalformedDag("a tag in CBOR is no CID", expected=_CID_TAG, found=tag)
        try:
            return Cid.from_bytes(inner[1:])
        except MalformedIdentifier as error:
            raise MalformedDag(f"a CID in CBOR is malformed: {error.message}") from None

    def _text(self, length: int) -> str:
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise MalformedDag("a text in CBOR is not UTF-8") from None

    def _simple(self, code: int) -> bool | None:
        if code not in _SIMPLE:
            raise MalformedDag("CBOR holds a number with a fraction or an unknown value", found=code)
        return _SIMPLE[code]

    def _take(self, count: int) -> bytes:
        found = self._data[self.position : self.position + count]
        if len(found) != count:
            raise MalformedDag("CBOR ends in the middle", expected=count, found=len(found))
        self.position += count
        return found
