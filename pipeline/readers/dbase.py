"""The attribute table of a shapefile: dBase III, text in UTF-8 or, where it is not, Latin 1."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

_FIELD_BYTES: Final = 32
_END_OF_FIELDS: Final = 0x0D
_DELETED: Final = b"*"


class _Field(NamedTuple):
    name: str
    start: int
    length: int
    read: Callable[[str], Any]


def read_dbase(raw: bytes) -> Iterator[dict[str, Any]]:
    """The rows in order, deleted ones left out; struct.error or IndexError if the table is cut off."""
    count, header_bytes, row_bytes = struct.unpack_from("<IHH", raw, 4)
    fields = list(_fields(raw))
    for number in range(count):
        start = header_bytes + number * row_bytes
        row = raw[start : start + row_bytes]
        if len(row) < row_bytes:
            raise IndexError(f"the table ends in row {number + 1}")
        if not row.startswith(_DELETED):
            yield {each.name: each.read(_text(row[each.start : each.start + each.length])) for each in fields}


def _fields(raw: bytes) -> Iterator[_Field]:
    position, start = _FIELD_BYTES, 1
    while raw[position] != _END_OF_FIELDS:
        name, kind, length, decimals = struct.unpack_from("<11sc4xBB", raw, position)
        reader = _decimal if decimals and kind in b"NF" else _READERS.get(kind, _word)
        yield _Field(_text(name.split(b"\0")[0]), start, length, reader)
        position, start = position + _FIELD_BYTES, start + length


def _text(raw: bytes) -> str:
    try:
        return raw.decode().strip(" \0")
    except UnicodeDecodeError:
        return raw.decode("latin-1").strip(" \0")


def _word(text: str) -> str | None:
    return text or None


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(text: str) -> int | float | None:
    return int(text) if text.removeprefix("-").isdecimal() else _decimal(text)


def _date(text: str) -> str | None:
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}" if len(text) == 8 else None


def _logical(text: str) -> bool | None:
    return {"t": True, "y": True, "f": False, "n": False}.get(text.lower())


_READERS: Final[dict[bytes, Callable[[str], Any]]] = {b"N": _number, b"F": _decimal, b"D": _date, b"L": _logical}
