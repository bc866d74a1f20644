"""Rows by event time, then by their position in the input: of any number of rows, in bounded memory.

Most sources give them in that order; then nothing is kept. Where one does not, sorted runs are laid down on disk and
joined again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.merge.context import in_time_order, time_numbers

SORT_RUN_BYTES: Final = 64 * 1024 * 1024
"""Rows that are sorted at once in memory; more are sorted in runs on disk and joined."""
SORT_BATCH_BYTES: Final = 1024 * 1024
"""How much of each sorted run is in memory while runs are joined: of the largest source, a thousand runs."""


class OutOfTimeOrderError(Exception):
    """A row is earlier than one before it."""


def already_in_order(pieces: Iterator[pa.Table], name: str) -> Iterator[pa.Table]:
    """The pieces as they are.

    Raises:
        OutOfTimeOrderError: as soon as the times in column ``name`` are not in order.
    """
    last = np.iinfo(np.int64).min
    for piece in pieces:
        times = _times(piece, name)
        if len(times):
            if times[0] < last or (times[1:] < times[:-1]).any():
                raise OutOfTimeOrderError
            last = times[-1]
        yield piece


def put_in_order(pieces: Iterator[pa.Table], name: str) -> Iterator[pa.Table]:
    """All rows by the times in column ``name``, which has no nulls; equal times keep their order."""
    with TemporaryDirectory(prefix="odf-sort-") as folder:
        runs: list[_Run] = []
        for number, run in enumerate(_sorted_runs(pieces, name)):
            runs.append(_Run(Path(folder) / str(number), run, name))
            schema = run.schema
        yield schema.empty_table()
        yield from _joined(runs, name)


def _sorted_runs(pieces: Iterator[pa.Table], name: str) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for piece in pieces:
        held.append(piece)
        if sum(each.nbytes for each in held) >= SORT_RUN_BYTES:
            yield _in_order(held, name)
            held.clear()
    if held:
        yield _in_order(held, name)


def _in_order(parts: list[pa.Table], name: str) -> pa.Table:
    rows = pa.concat_tables(parts)
    return in_time_order(rows, rows.column(name))


class _Run:
    """Sorted rows in a file; of them the next few are in memory."""

    def __init__(self, path: Path, rows: pa.Table, name: str) -> None:
        batch_rows = max(1, len(rows) * SORT_BATCH_BYTES // max(1, rows.nbytes))
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
            writer.write_table(rows, batch_rows)
        self._name, self._rows, self._times = name, rows.schema.empty_table(), np.empty(0, np.int64)
        self._batches: Iterator[Any] = iter(pa.ipc.open_stream(pa.OSFile(str(path))))
        self._next_batch()

    @property
    def last(self) -> int:
        """The latest time of those in memory."""
        return int(self._times[-1])

    def __bool__(self) -> bool:
        return len(self._times) > 0

    def take(self, bound: int, *, with_bound: bool) -> pa.Table:
        """The next rows in memory that are before ``bound``, or at it too."""
        count = int(np.searchsorted(self._times, bound, "right" if with_bound else "left"))
        taken = self._rows.slice(0, count)
        self._rows, self._times = self._rows.slice(count), self._times[count:]
        if not self:
            self._next_batch()
        return taken

    def _next_batch(self) -> None:
        batch = next((each for each in self._batches if len(each)), None)
        if batch is not None:
            self._rows = pa.Table.from_batches([batch])
            self._times = _times(self._rows, self._name)


def _joined(runs: list[_Run], name: str) -> Iterator[pa.Table]:
    """Each round takes what no row still on disk can come before. Of equal times those of earlier runs go first."""
    while runs := [run for run in runs if run]:
        least = min(range(len(runs)), key=lambda index: runs[index].last)
        bound = runs[least].last
        taken = [run.take(bound, with_bound=index <= least) for index, run in enumerate(runs)]
        yield _in_order(taken, name)


def _times(rows: pa.Table, name: str) -> Any:
    return time_numbers(rows.column(name)).to_numpy()
