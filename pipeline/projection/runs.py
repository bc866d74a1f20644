"""Runs: files of entries sorted by the hash of their key, of which only what is asked for is read.

```
block 0 | block 1 | … | index | tail        a block is an Arrow stream of at most BLOCK_ROWS entries
                                            the index has of each block its first hash, place and check sum
                                            the tail has length and check sum of the index, and a mark
```
A run is never changed. Whatever does not fit its check sum is ``SpoiledRunError``: its entries can be found anew.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from isal import isal_zlib

from pipeline.projection.keys import Hashes

HASH: Final = "hash"
KEY: Final = "key"
RETRACTED: Final = "retracted"
"""The three columns that every entry begins with; those of its record follow."""
BLOCK_ROWS: Final = 4_096
_SPARSE: Final = 4
"""So many entries for each that is asked for are not worth a look at each."""
_TAIL: Final = struct.Struct("<QI8s")
_MARK: Final = b"odf-run1"


class SpoiledRunError(Exception):
    """The file is not what was once written."""


@dataclass(frozen=True, slots=True)
class Run:
    """An open run: ``rows`` entries, and of each block the ``first`` hash, the bytes and their check sum."""

    path: Path
    rows: int
    _data: Any
    _first: Hashes
    _ends: Any
    _checks: Any

    def entries(self, low: int, high: int, among: Hashes | None = None) -> pa.Table:
        """Those whose hash is between ``low`` and ``high``, both included, or, if given, ``among`` these sorted ones.

        Others may come along with the latter, not many times more.

        Raises:
            SpoiledRunError: a block is not what was written.
        """
        blocks = self._blocks(low, high) if among is None else self._blocks_of(among)
        if not len(blocks):
            return self._block(0).slice(0, 0)
        found = pa.concat_tables([self._block(number) for number in blocks])
        hashes = found.column(HASH).to_numpy()
        if among is not None and len(found) <= _SPARSE * len(among):
            return found
        if among is not None:
            places = np.minimum(np.searchsorted(among, hashes), len(among) - 1)
            return found.filter(pa.array(among[places] == hashes))
        begin, end = np.searchsorted(hashes, np.uint64(low)), np.searchsorted(hashes, np.uint64(high), "right")
        return found.slice(begin, end - begin)

    def borders(self) -> Hashes:
        """The first hash of each block."""
        return self._first

    def _blocks(self, low: int, high: int) -> Any:
        begin = max(0, int(np.searchsorted(self._first, np.uint64(low))) - 1)
        return np.arange(begin, np.searchsorted(self._first, np.uint64(high), "right"))

    def _blocks_of(self, hashes: Hashes) -> Any:
        """Those that may hold one of them: equal hashes may go on over several blocks."""
        begins = np.maximum(np.searchsorted(self._first, hashes) - 1, 0)
        ends = np.searchsorted(self._first, hashes, "right")
        marks = np.zeros(len(self._first) + 1, np.int64)
        np.add.at(marks, begins, 1)
        np.add.at(marks, np.maximum(ends, begins), -1)
        return np.flatnonzero(np.cumsum(marks)[:-1])

    def _block(self, number: int) -> pa.Table:
        begin = 0 if number == 0 else int(self._ends[number - 1])
        piece = self._data.slice(begin, int(self._ends[number]) - begin)
        if isal_zlib.crc32(piece) != self._checks[number]:
            raise SpoiledRunError(f"block {number} of {self.path.name}")
        return pa.ipc.open_stream(piece).read_all()


def open_run(path: Path) -> Run:
    """A run that ``write_run`` made.

    Raises:
        SpoiledRunError: it is not there, cut off or damaged.
    """
    try:
        with pa.memory_map(str(path)) as file:
            data = file.read_buffer()
        return _opened(path, data)
    except (OSError, pa.ArrowException, struct.error, KeyError) as error:
        raise SpoiledRunError(f"{path.name}: {error}") from None


def write_run(path: Path, pieces: Iterable[pa.Table]) -> int:
    """Write entries, sorted by their hash over all ``pieces``; how many there are. Without any there is no file."""
    index = _Index()
    with path.open("xb") as file:
        for piece in pieces:
            for begin in range(0, len(piece), BLOCK_ROWS):
                index.add(file, piece.slice(begin, BLOCK_ROWS))
        index.write(file)
    if not index.rows:
        path.unlink()
    return index.rows


class _Index:
    """What is noted of blocks while they are written."""

    def __init__(self) -> None:
        self.rows = 0
        self._first: list[int] = []
        self._ends: list[int] = []
        self._checks: list[int] = []

    def add(self, file: BinaryIO, entries: pa.Table) -> None:
        block = _stream(entries.combine_chunks())
        file.write(block)
        self.rows += len(entries)
        self._first.append(entries.column(HASH)[0].as_py())
        self._ends.append((self._ends[-1] if self._ends else 0) + len(block))
        self._checks.append(isal_zlib.crc32(block))

    def write(self, file: BinaryIO) -> None:
        columns = [pa.array(self._first, pa.uint64()), pa.array(self._ends, pa.int64())]
        table = pa.table([*columns, pa.array(self._checks, pa.uint32())], ["first", "end", "check"])
        index = _stream(table.replace_schema_metadata({"rows": str(self.rows)}))
        file.write(index)
        file.write(_TAIL.pack(len(index), isal_zlib.crc32(index), _MARK))


def _opened(path: Path, data: Any) -> Run:
    length, check, mark = _TAIL.unpack(data.slice(max(0, data.size - _TAIL.size)).to_pybytes())
    begin = data.size - _TAIL.size - length
    if mark != _MARK or begin < 0 or isal_zlib.crc32(data.slice(begin, length)) != check:
        raise SpoiledRunError(f"{path.name} has no index")
    index = pa.ipc.open_stream(data.slice(begin, length)).read_all()
    first, ends, checks = (index.column(name).to_numpy() for name in ("first", "end", "check"))
    rows = int((index.schema.metadata or {})[b"rows"])
    return Run(path, rows, data, first, ends, checks)


def _stream(table: pa.Table) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
