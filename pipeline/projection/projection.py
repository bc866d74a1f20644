"""What a history leads to, found without reading it again: of each key whether it was there, and its last record.

A projection is a few runs (``runs.py``), the oldest first. Records that are added become a run of their own; runs of
about one size are merged into one, so there are few even after many ingests, and a record is rewritten seldom. Among
runs the later one says what holds. All of it is derived from slices and can be made again from them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.changelog import OperationType
from pipeline.projection.keys import Hashes, Keys, Rows, keys_of, last_rows, rows_of
from pipeline.projection.runs import HASH, KEY, RETRACTED, Run, open_run, write_run

RANGE_ROWS: Final = 262_144
"""Entries that are looked at together: enough for the vectors to pay, little enough for any memory."""
_RUNS_OF_ONE_SIZE: Final = 4
_HASHES: Final = 2**64


@dataclass(frozen=True, slots=True)
class Shape:
    """What a projection is made of: the key, and the columns of the records, none if only keys are asked for.

    ``operation`` is the column that says whether a record takes its key back; ``key`` has the types of the key.
    """

    primary_key: tuple[str, ...]
    operation: str
    records: pa.Schema
    key: pa.Schema

    @property
    def needed(self) -> pa.Schema:
        """The columns of a slice that are looked at."""
        others = self.records if len(self.records) else self.key
        return pa.schema([pa.field(self.operation, pa.int64()), *others])


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of the input beside the part of the state that has the same hashes.

    ``rows`` are those of the input, ``state`` records that hold, and ``held`` of each row the place of its key in the
    state, or -1.
    """

    rows: Rows
    state: pa.Table
    held: Rows


class Projection:
    """Over ``runs``, the oldest first; new ones are written to ``folder``."""

    def __init__(self, shape: Shape, runs: Sequence[Path], folder: Path) -> None:
        """Raises: SpoiledRunError."""
        self._shape, self._folder = shape, folder
        self._runs = [open_run(path) for path in runs]

    @property
    def runs(self) -> tuple[Path, ...]:
        """Their files, the oldest first."""
        return tuple(run.path for run in self._runs)

    def add(self, records: pa.Table, keys: Keys | None = None) -> None:
        """Take in the records of a later slice, in the order of their offsets; ``keys`` are theirs, if known."""
        if not len(records):
            return
        keys = keys or keys_of(records, self._shape.primary_key)
        latest = pa.array(last_rows(keys.hashes, keys.encoded))
        self._write([_entries(records, keys, self._shape).take(latest)])
        self._merge_sizes()

    def known(self, keys: Keys) -> Any:
        """Of each key whether it ever was there, retracted or not."""
        found = np.zeros(len(keys.hashes), bool)
        for rows, entries in self._beside(keys, whole=False):
            found[rows] = _places(keys, rows, entries) >= 0
        return found

    def stretches(self, keys: Keys, *, whole: bool) -> Iterator[Stretch]:
        """The input beside the state; ``whole`` brings all of the state, otherwise only what the keys ask for."""
        for rows, entries in self._beside(keys, whole=whole):
            state = _live(entries).combine_chunks()
            records = state.select(range(3, state.num_columns)).rename_columns(self._shape.records.names)
            yield Stretch(rows, records, _places(keys, rows, state))

    def _beside(self, keys: Keys, *, whole: bool) -> Iterator[tuple[Rows, pa.Table]]:
        """Rows of the input, by their hashes, and the entries of the same hashes: of each key the last one."""
        order: Rows = np.argsort(keys.hashes)
        hashes = keys.hashes[order]
        for low, high in _ranges(hashes, self._runs if whole else ()):
            begin, end = np.searchsorted(hashes, np.uint64(low)), np.searchsorted(hashes, np.uint64(high), "right")
            among = None if whole else hashes[begin:end]
            yield order[begin:end], _last(self._runs, low, high, among, self._shape)

    def _merge_sizes(self) -> None:
        """Merge as long as there are several runs that are no larger than the newest one."""
        while True:
            size = _size(self._runs[-1].rows) if self._runs else 0
            count = 0
            while count < len(self._runs) and _size(self._runs[-1 - count].rows) <= size:
                count += 1
            if count < _RUNS_OF_ONE_SIZE:
                return
            self._merge(count)

    def _merge(self, count: int) -> None:
        merged, self._runs = self._runs[-count:], self._runs[:-count]
        forgets = not self._runs and bool(len(self._shape.records))
        self._write(_live(piece) if forgets else piece for piece in _all_entries(merged, self._shape))

    def _write(self, pieces: Iterable[pa.Table]) -> None:
        path = self._folder / secrets.token_hex(8)
        if write_run(path, pieces):
            self._runs.append(open_run(path))


def _entries(records: pa.Table, keys: Keys, shape: Shape) -> pa.Table:
    retracted = pc.fill_null(pc.equal(records.column(shape.operation), int(OperationType.RETRACT)), False)
    columns = [records.column(field.name).cast(field.type) for field in shape.records]
    names = [HASH, KEY, RETRACTED, *(f"column{number}" for number in range(len(columns)))]
    return pa.table([keys.hashes, keys.encoded, retracted, *columns], names)


def _last(runs: Sequence[Run], low: int, high: int, among: Hashes | None, shape: Shape) -> pa.Table:
    """Of each key with such a hash its last entry, in the order of the hashes."""
    pieces = [piece for run in runs if len(piece := run.entries(low, high, among))]
    if not pieces:
        return _no_entries(shape)
    if len(pieces) == 1:
        return pieces[0]
    found = pa.concat_tables(pieces)
    return found.take(pa.array(last_rows(found.column(HASH).to_numpy(), found.column(KEY))))


def _all_entries(runs: Sequence[Run], shape: Shape) -> Iterator[pa.Table]:
    for low, high in _ranges(np.zeros(0, np.uint64), runs):
        yield _last(runs, low, high, None, shape)


def _ranges(hashes: Hashes, runs: Sequence[Run]) -> list[tuple[int, int]]:
    """All numbers that a hash may be, cut so that neither the sorted ``hashes`` nor a run has too many in one piece."""
    borders = [hashes[RANGE_ROWS::RANGE_ROWS]]
    if runs:
        largest = max(runs, key=lambda run: run.rows).borders()
        step = max(1, len(largest) * RANGE_ROWS // sum(run.rows for run in runs))
        borders.append(largest[step::step])
    begins = [0, *(each for each in np.unique(np.concatenate(borders)).tolist() if each)]
    return list(zip(begins, [each - 1 for each in begins[1:]] + [_HASHES - 1], strict=True))


def _places(keys: Keys, rows: Rows, entries: pa.Table) -> Rows:
    return rows_of(keys, rows, among=entries.column(KEY), among_hashes=entries.column(HASH).to_numpy())


def _live(entries: pa.Table) -> pa.Table:
    if not pc.any(entries.column(RETRACTED)).as_py():
        return entries
    return entries.filter(pc.invert(entries.column(RETRACTED)))


def _no_entries(shape: Shape) -> pa.Table:
    nothing = shape.records.empty_table()
    columns = [pa.array([], pa.uint64()), pa.array([], pa.large_binary()), pa.array([], pa.bool_()), *nothing.columns]
    return pa.table(columns, [HASH, KEY, RETRACTED, *(f"column{number}" for number in range(len(nothing.columns)))])


def _size(rows: int) -> int:
    """A number that grows by one where the rows are four times as many."""
    return (rows.bit_length() - 1) // 2 if rows else 0
