"""A projection against a dictionary that is told the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.projection import projection, runs
from pipeline.projection.keys import keys_of
from pipeline.projection.projection import Projection, Shape

FIELDS = pa.schema([("k", pa.string()), ("n", pa.int64())])
KEY = pa.schema([FIELDS.field("k")])
WITH_RECORDS = Shape(("k",), "op", FIELDS, KEY)
KEYS_ALONE = Shape(("k",), "op", pa.schema([]), KEY)

ROW = st.tuples(st.sampled_from([0, 0, 1, 3]), st.sampled_from([*"abcdefgh", None]), st.integers(0, 9))
SLICES = st.lists(st.lists(ROW, min_size=1, max_size=6), max_size=12)
ASKED = st.lists(st.sampled_from([*"abcdefghij", None]), max_size=6)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entries a block and four looked at together."""
    monkeypatch.setattr(runs, "BLOCK_ROWS", 2)
    monkeypatch.setattr(projection, "RANGE_ROWS", 4)


def records(rows: list[tuple[int, str | None, int]]) -> pa.Table:
    columns = [*zip(*rows, strict=True)] or [(), (), ()]
    return pa.table([pa.array(each) for each in columns], pa.schema([("op", pa.int32()), *FIELDS]))


def built(shape: Shape, folder: Path, slices: list[list[tuple[int, str | None, int]]]) -> Projection:
    """Reopened after every slice, as between ingests."""
    paths: tuple[Path, ...] = ()
    for rows in slices:
        found = Projection(shape, paths, folder)
        found.add(records(rows))
        paths = found.runs
    return Projection(shape, paths, folder)


def keys(asked: list[str | None]) -> Any:
    return keys_of(pa.table({"k": pa.array(asked, pa.string())}), ["k"])


def held(found: Projection, asked: list[str | None], *, whole: bool) -> tuple[list[Any], set[Any]]:
    """The record of each key asked for, and all records of the state that came along."""
    records: list[Any] = [None] * len(asked)
    state: list[Any] = []
    for stretch in found.stretches(keys(asked), whole=whole):
        rows = [tuple(row.values()) for row in stretch.state.to_pylist()]
        state += rows
        for row, place in zip(stretch.rows.tolist(), stretch.held.tolist(), strict=True):
            records[row] = rows[place] if place >= 0 else None
    assert not whole or len({*state}) == len(state)
    return records, {*state}


def told(slices: list[list[tuple[int, str | None, int]]]) -> dict[str | None, tuple[str | None, int]]:
    state = {}
    for op, key, n in (row for rows in slices for row in rows):
        state[key] = (key, n)
        if op == 1:
            del state[key]
    return state


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(slices=SLICES, asked=ASKED)
def test_the_last_record_of_each_key_is_found(
    small_pieces: None, tmp_path_factory: pytest.TempPathFactory, slices: list[Any], asked: list[str | None]
) -> None:
    found, state = built(WITH_RECORDS, tmp_path_factory.mktemp("runs"), slices), told(slices)
    expected = [state.get(key) for key in asked]
    assert held(found, asked, whole=False)[0] == expected
    assert held(found, asked, whole=True) == (expected, {*state.values()})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(slices=SLICES, asked=ASKED)
def test_every_key_that_ever_was_is_known(
    small_pieces: None, tmp_path_factory: pytest.TempPathFactory, slices: list[Any], asked: list[str | None]
) -> None:
    found = built(KEYS_ALONE, tmp_path_factory.mktemp("runs"), slices)
    seen = {key for rows in slices for _, key, _ in rows}
    assert found.known(keys(asked)).tolist() == [key in seen for key in asked]


def test_runs_stay_few(tmp_path: Path) -> None:
    found = built(WITH_RECORDS, tmp_path, [[(0, f"key {number}", number)] for number in range(300)])
    assert len(found.runs) <= 15
    assert len(held(found, [], whole=True)[1]) == 300


def test_a_small_run_is_not_merged_with_a_large_one(tmp_path: Path) -> None:
    found = Projection(WITH_RECORDS, (), tmp_path)
    found.add(records([(0, f"key {number}", number) for number in range(1_000)]))
    (large,) = found.runs
    for number in range(100):
        found.add(records([(3, f"key {number}", 7)]))
        assert found.runs[0] == large


def test_what_is_gone_is_forgotten_once_all_runs_are_one(tmp_path: Path) -> None:
    found = built(WITH_RECORDS, tmp_path, [[(0, "a", 1)], [(0, "b", 1)], [(1, "a", 1)], [(1, "b", 1)]])
    assert found.runs == ()


def test_a_small_question_reads_little_of_a_large_projection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Projection(KEYS_ALONE, (), tmp_path)
    found.add(records([(0, f"key {number}", number) for number in range(50_000)]))
    read = [*counted_blocks(monkeypatch)]
    found = Projection(KEYS_ALONE, found.runs, tmp_path)
    assert found.known(keys(["key 7", "none"])).tolist() == [True, False]
    assert len(read[0]) <= 2


def counted_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A list that gets the number of every block that is read."""
    read: list[int] = []
    plain = runs.Run._block

    def counted(run: runs.Run, number: int) -> pa.Table:
        read.append(number)
        return plain(run, number)

    monkeypatch.setattr(runs.Run, "_block", counted)
    yield read
