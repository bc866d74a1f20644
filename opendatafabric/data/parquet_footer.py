"""Looks into the footer of a Parquet file before any library does: how deep and wide the schema is, and where the
embedded Arrow schema lies.

A hostile footer can make a recursive reader run out of stack, so its nesting and its number of columns are counted here
first. The embedded Arrow schema (key ``ARROW:schema``) is taken out, because libraries differ in how they apply it: the
file is then read by its Parquet types alone and ``parquet_types.py`` applies the Arrow types by the reference's rules.
The footer is a Thrift struct in compact encoding (Parquet format: FileMetaData); only its outline is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import LimitExceeded, MalformedData
from opendatafabric.limits import PARQUET_DEPTH_MAX, PARQUET_FIELDS_MAX

ARROW_SCHEMA_KEY: Final = b"ARROW:schema"
_HIDDEN_KEY: Final = b"ARROW_schema"
_MAGIC: Final = b"PAR1"

_SCHEMA_FIELD, _KEY_VALUES_FIELD = 2, 5
_NUM_CHILDREN_FIELD: Final = 5
_KEY_FIELD, _VALUE_FIELD = 1, 2

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_THRIFT_DEPTH_MAX: Final = 32
"""FileMetaData nests about eight deep."""


@dataclass(frozen=True, slots=True)
class Footer:
    """``arrow_schema`` is the base64 text of the embedded Arrow schema, if there is one; ``as_file`` is a Parquet file
    of nothing but the footer, without that key."""

    arrow_schema: bytes | None
    as_file: bytes


def read_footer(data: bytes) -> Footer:
    """Check and take apart the bytes between the last page and the trailing length.

    Raises:
        MalformedData: not a Parquet footer.
        LimitExceeded: more than ``PARQUET_FIELDS_MAX`` fields or ``PARQUET_DEPTH_MAX`` levels.
    """
    try:
        arrow_schema, hidden = _outline(_Compact(data))
    except IndexError:
        raise MalformedData("the footer of the Parquet file ends too early") from None
    return Footer(arrow_schema, _MAGIC + hidden + len(hidden).to_bytes(4, "little") + _MAGIC)


def _outline(reader: _Compact) -> tuple[bytes | None, bytes]:
    found: bytes | None = None
    hidden = bytearray(reader.data)
    for field, kind in reader.fields():
        if field == _SCHEMA_FIELD and kind == _LIST:
            _check_schema(reader)
        elif field == _KEY_VALUES_FIELD and kind == _LIST:
            for key_start, value in _arrow_schemas(reader):
                hidden[key_start : key_start + len(_HIDDEN_KEY)] = _HIDDEN_KEY
                found = value
        else:
            reader.skip(kind)
    return found, bytes(hidden)


def _arrow_schemas(reader: _Compact) -> list[tuple[int, bytes | None]]:
    """Position of the key, and value, of each embedded Arrow schema: there should be one, and the last one counts."""
    entries = list(_key_values(reader))
    return [(key_start, value) for key_start, key, value in entries if key == ARROW_SCHEMA_KEY]


def _check_schema(reader: _Compact) -> None:
    """Walk the flattened schema tree: each element says how many of the following ones are its children."""
    count = reader.list_size(_STRUCT)
    if count > PARQUET_FIELDS_MAX:
        raise LimitExceeded(f"the Parquet schema has {count} fields", expected=f"at most {PARQUET_FIELDS_MAX}")
    open_children: list[int] = []
    for _ in range(count):
        while open_children and open_children[-1] == 0:
            open_children.pop()
        if open_children:
            open_children[-1] -= 1
        open_children.append(_number_of_children(reader))
        if len(open_children) > PARQUET_DEPTH_MAX:
            raise LimitExceeded(f"the Parquet schema nests deeper than {PARQUET_DEPTH_MAX} levels")


def _number_of_children(reader: _Compact) -> int:
    children = 0
    for field, kind in reader.fields():
        if field == _NUM_CHILDREN_FIELD and kind == _I32:
            children = max(0, reader.zigzag())
        else:
            reader.skip(kind)
    return children


def _key_values(reader: _Compact) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Position of the key, key and value of each entry."""
    for _ in range(reader.list_size(_STRUCT)):
        key_start, key, value = 0, b"", None
        for field, kind in reader.fields():
            if field == _KEY_FIELD and kind == _BINARY:
                key = reader.binary()
                key_start = reader.position - len(key)
            elif field == _VALUE_FIELD and kind == _BINARY:
                value = reader.binary()
            else:
                reader.skip(kind)
        yield key_start, key, value


class _Compact:
    """A cursor over Thrift's compact encoding. Reading past the end is an ``IndexError``."""

    __slots__ = ("data", "depth", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.depth = 0

    def byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise MalformedData("the footer of the Parquet file holds a number of more than 64 bits")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        size = self.varint()
        self._advance(size)
        return self.data[self.position - size : self.position]

    def list_size(self, kind: int) -> int:
        """The number of elements of a list that must hold ``kind`` (an empty one may hold anything)."""
        found, size = self._list_header()
        if size and found != kind:
            raise MalformedData("the footer of the Parquet file holds a list of the wrong kind")
        return size

    def fields(self) -> Iterator[tuple[int, int]]:
        """Id and kind of each field; the caller reads or skips its value before asking for the next."""
        self.depth += 1
        if self.depth > _THRIFT_DEPTH_MAX:
            raise MalformedData("the footer of the Parquet file nests too deep")
        field = 0
        while (header := self.byte()) != _STOP:
            field = field + (header >> 4) if header >> 4 else self.zigzag()
            yield field, header & 0x0F
        self.depth -= 1

    def skip(self, kind: int) -> None:
        """Pass over a value, and over all that it holds."""
        if kind in _VARINTS:
            self.varint()
        elif kind in _WIDTHS:
            self._advance(_WIDTHS[kind])
        elif kind == _BINARY:
            self._advance(self.varint())
        elif kind in (_LIST, _SET):
            self._skip_list()
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        else:
            raise MalformedData(f"the footer of the Parquet file holds a value of unknown kind {kind}")

    def _skip_list(self) -> None:
        kind, size = self._list_header()
        self._skip_many([kind], size)

    def _skip_map(self) -> None:
        size = self.varint()
        if size:
            kinds = self.byte()
            self._skip_many([kinds >> 4, kinds & 0x0F], size)

    def _skip_many(self, kinds: list[int], count: int) -> None:
        """Elements of a container; booleans take a byte there."""
        self.depth += 1
        if self.depth > _THRIFT_DEPTH_MAX:
            raise MalformedData("the footer of the Parquet file nests too deep")
        for _ in range(count):
            for kind in kinds:
                self.skip(_BYTE if kind in (_TRUE, _FALSE) else kind)
        self.depth -= 1

    def _list_header(self) -> tuple[int, int]:
        header = self.byte()
        return header & 0x0F, header >> 4 if header >> 4 < 15 else self.varint()

    def _advance(self, size: int) -> None:
        self.position += size
        if self.position > len(self.data):
            raise IndexError


_VARINTS: Final = frozenset({_I16, _I32, _I64})
_WIDTHS: Final = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
