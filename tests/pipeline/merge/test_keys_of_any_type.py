"""Keys and values of every type through a whole merge, from the first write to a history of two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.sources import (
    MergeStrategy,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
)
from pipeline.history import open_history
from pipeline.ingest_request import HistoryFiles
from pipeline.merge import MergeContext, merge_records
from pipeline.prepared import slice_schema
from tests.pipeline.projection.test_keys import VALUES

SORTABLE = [name for name in VALUES if name not in {"list", "pair", "nothing", "half", "dictionary"}]
"""What a snapshot and an upsert can put in order; a ledger need not."""


class Merged:
    """A dataset of a key and a number, by the records alone."""

    def __init__(self, folder: Path, strategy: MergeStrategy, data_type: pa.DataType) -> None:
        self._folder, self._strategy, self._data_type = folder, strategy, data_type
        self._runs: tuple[Path, ...] = ()

    def write(self, rows: dict[Any, int] | list[tuple[Any, int]]) -> list[tuple[int, Any, int]]:
        """Operation, key and number of what is added."""
        pairs = [*rows.items()] if isinstance(rows, dict) else rows
        times = pa.array([0] * len(pairs), TIMESTAMP)
        keys = pa.array([key for key, _ in pairs], self._data_type)
        records = pa.table({"event_time": times, "key": keys, "n": pa.array([n for _, n in pairs], pa.int64())})
        schema = slice_schema(pa.schema([("op", pa.int32()), *records.schema]), DatasetVocabulary())
        history = open_history(HistoryFiles(self._folder, self._runs), self._strategy, schema, DatasetVocabulary())
        assert history is not None
        context = MergeContext(history, DatasetVocabulary(), pa.scalar(0, TIMESTAMP))
        merged = merge_records(records, self._strategy, context)
        history.add(merged.records, merged.keys)
        self._runs = history.runs
        return [(row["op"], row["key"], row["n"]) for row in merged.records.to_pylist()]


def numbered(name: str, *, nulls: bool) -> list[tuple[Any, int]]:
    return [(value, number) for number, value in enumerate(VALUES[name][1]) if nulls or value is not None]


@pytest.mark.parametrize("name", [name for name in VALUES if name != "nothing"])
def test_a_ledger_knows_every_key_again_but_nulls(tmp_path: Path, name: str) -> None:
    ledger = Merged(tmp_path, MergeStrategyLedger(("key",)), VALUES[name][0])
    rows = numbered(name, nulls=True)
    assert len(ledger.write(rows)) == len(rows)
    assert [key for _, key, _ in ledger.write(rows)] == [key for key, _ in rows if key is None]


@pytest.mark.parametrize("name", SORTABLE)
def test_a_snapshot_knows_every_key_and_value_again(tmp_path: Path, name: str) -> None:
    snapshot = Merged(tmp_path, MergeStrategySnapshot(("key",)), VALUES[name][0])
    rows = numbered(name, nulls=False)
    assert len(snapshot.write(rows)) == len(rows)
    assert snapshot.write(rows[::-1]) == []
    found = snapshot.write([(key, n + 10) for key, n in rows[1:]])
    assert sorted(op for op, _, _ in found) == sorted([1, *[2, 3] * (len(rows) - 1)])


@pytest.mark.parametrize("name", SORTABLE)
def test_an_upsert_knows_every_key_again_nulls_too(tmp_path: Path, name: str) -> None:
    upsert = Merged(tmp_path, MergeStrategyUpsertStream(("key",)), VALUES[name][0])
    rows = numbered(name, nulls=True)
    assert len(upsert.write(rows)) == len(rows)
    assert upsert.write(rows) == []
    assert [op for op, _, _ in upsert.write([(key, n + 10) for key, n in rows])] == [2, 3] * len(rows)


def test_zeros_of_both_signs_are_one_key(tmp_path: Path) -> None:
    snapshot = Merged(tmp_path, MergeStrategySnapshot(("key",)), pa.float64())
    snapshot.write([(-0.0, 1)])
    assert snapshot.write([(0.0, 1)]) == []


def test_nan_is_a_key_like_others(tmp_path: Path) -> None:
    snapshot = Merged(tmp_path, MergeStrategySnapshot(("key",)), pa.float64())
    snapshot.write([(float("nan"), 1)])
    assert [op for op, _, _ in snapshot.write([(float("nan"), 2)])] == [2, 3]
