"""FlatBuffers put together by hand, right or wrong: what the writer of the house would never write."""

from __future__ import annotations

import struct

from opendatafabric.codec.block_header import BLOCK_KIND, BLOCK_VERSION
from opendatafabric.codec.flatbuffers_write import pack_instant, write_table
from opendatafabric.instant import Instant
from opendatafabric.metadata.manifest import Manifest

NOON = Instant.from_rfc3339("2020-01-01T12:00:00Z")


class HandMadeBlock:
    """A MetadataBlock whose parts follow one another in the order of the calls; the root comes first.

    Parts have names, and a name in the place of bytes stands for an offset. One that leads back wraps around 32 bits,
    as it would for any reader.
    """

    def __init__(self, event_type: int, *, event: str = "event") -> None:
        self._data = bytearray(4)
        self._offsets: list[tuple[int, str]] = [(0, "root")]
        self._parts: dict[str, int] = {}
        self.table("root", pack_instant(NOON), None, struct.pack("<Q", 1), bytes([event_type]), event)

    def table(self, name: str, *fields: bytes | str | None) -> HandMadeBlock:
        """Fields by slot, ``None`` when absent."""
        sizes = [0 if field is None else 4 if isinstance(field, str) else len(field) for field in fields]
        places = [4 + sum(sizes[:slot]) if sizes[slot] else 0 for slot in range(len(fields))]
        vtable = struct.pack(f"<{2 + len(fields)}H", 4 + 2 * len(fields), 4 + sum(sizes), *places)
        self._data += vtable
        self._parts[name] = len(self._data)
        self._data += struct.pack("<i", len(vtable))
        for field in fields:
            if isinstance(field, str):
                self._offset(field)
            elif field is not None:
                self._data += field
        return self

    def vector(self, name: str, *parts: str, length: int | None = None) -> HandMadeBlock:
        """Offsets to parts; ``length`` may lie."""
        self._parts[name] = len(self._data)
        self._data += struct.pack("<I", len(parts) if length is None else length)
        for part in parts:
            self._offset(part)
        return self

    def text(self, name: str, data: bytes, *, length: int | None = None, end: bytes = b"\0") -> HandMadeBlock:
        """A string; its length and end may lie."""
        self._parts[name] = len(self._data)
        self._data += struct.pack("<I", len(data) if length is None else length) + data + end
        return self

    def content(self) -> bytes:
        """The finished buffer."""
        for place, name in self._offsets:
            struct.pack_into("<I", self._data, place, (self._parts[name] - place) % 2**32)
        return bytes(self._data)

    def raw(self) -> bytes:
        """The same inside its manifest."""
        return manifest_of(self.content())

    def _offset(self, name: str) -> None:
        self._offsets.append((len(self._data), name))
        self._data += bytes(4)


def manifest_of(content: bytes, *, kind: int = BLOCK_KIND, version: int = BLOCK_VERSION) -> bytes:
    """A manifest around any bytes."""
    return write_table(Manifest(kind, version, content))
