"""Text formats are read block by block, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

BLOCK_BYTES: Final = 4 * 1024 * 1024
_BLOCK_BYTES_MAX: Final = 2**31 - 1
_GROWTH: Final = 16


def read_blocks(open_reader: Callable[[int], Any]) -> Iterator[pa.RecordBatch]:
    """The batches of a reader of Arrow; where a record is larger than a block, it goes on with larger blocks.

    ``open_reader`` is given the bytes of a block and begins at the first record.
    """
    block_bytes, passed = BLOCK_BYTES, 0
    while True:
        try:
            for batch in _behind(open_reader(block_bytes), passed):
                passed += len(batch)
                yield batch
            return
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error) or block_bytes == _BLOCK_BYTES_MAX:
                raise
            block_bytes = min(block_bytes * _GROWTH, _BLOCK_BYTES_MAX)


def first_rows(pieces: Iterator[pa.Table], count: int) -> pa.Table:
    """As many rows as there are, ``count`` at most; no more of the file is read than that takes."""
    taken: list[pa.Table] = []
    for piece in pieces:
        taken.append(piece)
        if sum(map(len, taken)) >= count:
            break
    return pa.concat_tables(taken).slice(0, count)


def _behind(reader: Any, rows: int) -> Iterator[pa.RecordBatch]:
    with reader:
        for batch in reader:
            if rows < len(batch):
                yield batch.slice(rows)
            rows = max(0, rows - len(batch))
