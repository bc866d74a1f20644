"""Steps over histories, and queries in plain Python for them: operators without Spark, and without files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from opendatafabric.data.slice_format import TIMESTAMP
from pipeline.epochs.found_rows import FoundRows, Query
from pipeline.epochs.records import NO_WATERMARK, EpochResult, EpochStep, TaggedRecords
from tests.pipeline.epochs.oracle import APPEND, RETRACT, Block, History, Record, Row, Values

MINUTE_MS = 60_000
Operator = Callable[[EpochStep], EpochResult]


def records_table(records: Sequence[Record]) -> pa.Table:
    """Their columns of data."""
    return pa.table({
        "event_time": pa.array([each.time * MINUTE_MS for each in records], pa.int64()).cast(TIMESTAMP),
        "key": pa.array([each.key for each in records], pa.string()),
        "value": pa.array([each.value for each in records], pa.int64()),
    })  # fmt: skip


class Stepping:
    """Steps of an operator over ``inputs``; ``kept`` are the records that it still needs after each."""

    def __init__(self, operator: Operator, inputs: Sequence[str]) -> None:
        self._operator, self._inputs = operator, inputs
        self._reached: dict[str, int] = {}
        self._offsets: Counter[str] = Counter()
        self._watermark = NO_WATERMARK
        self._kept = tuple(self._tagged([]) for _ in inputs)
        self.kept: list[int] = []

    def run(self, history: History, ends: Sequence[int]) -> list[Row]:
        """All rows, ``at`` the number of their step; steps end before those places of the history, and at its end."""
        edges = [0, *(end for end in ends if end < len(history)), len(history)]
        return [
            Row(number, op, values)
            for number, (start, end) in enumerate(pairwise(edges))
            for op, values in self._step(history[start:end])
        ]

    def _step(self, blocks: History) -> list[tuple[int, Values]]:
        before, new = self._watermark, [self._tagged([]) for _ in self._inputs]
        for block in blocks:
            if block.input in self._inputs:
                index = self._inputs.index(block.input)
                new[index] = new[index].followed_by(self._brought(block))
        known = [self._reached[each] for each in self._inputs if each in self._reached]
        self._watermark = min(known) if len(known) == len(self._inputs) else NO_WATERMARK
        inputs = tuple(kept.followed_by(came) for kept, came in zip(self._kept, new, strict=True))
        is_new = tuple(
            np.arange(len(kept) + len(came)) >= len(kept) for kept, came in zip(self._kept, new, strict=True)
        )
        result = self._operator(EpochStep(inputs, is_new, before, self._watermark))
        self._kept = result.kept
        self.kept.append(sum(map(len, self._kept)))
        return told(result)

    def _brought(self, block: Block) -> TaggedRecords:
        start = self._offsets[block.input]
        self._offsets[block.input] += len(block.records)
        brought = self._tagged(block.records, start, self._reached.get(block.input, NO_WATERMARK))
        if block.watermark is not None:
            said = block.watermark * MINUTE_MS
            self._reached[block.input] = max(said, self._reached.get(block.input, said))
        return brought

    @staticmethod
    def _tagged(records: Sequence[Record], start: int = 0, late_before: int = NO_WATERMARK) -> TaggedRecords:
        count = len(records)
        operations = np.array([each.op for each in records], np.int32)
        late = np.full(count, late_before, np.int64)
        return TaggedRecords(records_table(records), "event_time", np.arange(start, start + count), operations, late)


def told(result: EpochResult) -> list[tuple[int, Values]]:
    """Operations and values, times in minutes."""
    columns = [values_of(column) for column in result.rows.columns]
    values = list(zip(*columns, strict=True))
    return [(APPEND if sign > 0 else RETRACT, each) for sign, each in zip(result.signs.tolist(), values, strict=True)]


def values_of(column: Any) -> list[object]:
    """Of a column, times in minutes."""
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    return [None if each is None else each // MINUTE_MS for each in column.cast(TIMESTAMP).cast(pa.int64()).to_pylist()]


def joining(matches: Callable[[dict[str, Any], dict[str, Any]], bool], *, keeps: Sequence[int] = ()) -> Query:
    """A query that joins two inputs; those whose place is among ``keeps`` are kept alone too."""

    def query(given: Sequence[pa.Table]) -> FoundRows:
        left, right = (each.to_pylist() for each in given)
        places = [(i, j) for i, one in enumerate(left) for j, other in enumerate(right) if matches(one, other)]
        if 0 in keeps:
            places += [(i, -1) for i in range(len(left)) if i not in {place[0] for place in places}]
        if 1 in keeps:
            places += [(-1, j) for j in range(len(right)) if j not in {place[1] for place in places}]
        lefts, rights = (np.array([place[side] for place in places], np.int64) for side in (0, 1))
        columns = [*_taken(given[0], lefts).columns, *_taken(given[1], rights).columns]
        rows = pa.table(columns, names=[str(index) for index in range(len(columns))])
        return FoundRows(rows, (lefts, np.where(rights < 0, -1, rights + len(left))))

    return query


def _taken(records: pa.Table, places: Any) -> pa.Table:
    return records.select(["event_time", "key", "value"]).take(pa.array(places, mask=places < 0))


def in_steps(rows: Sequence[Row], history: History, ends: Sequence[int]) -> Counter[Row]:
    """Rows of the whole history as steps give them that end there."""
    edges = [*(end for end in ends if end < len(history)), len(history)]
    return Counter(Row(next(i for i, end in enumerate(edges) if row.at < end), row.op, row.values) for row in rows)
