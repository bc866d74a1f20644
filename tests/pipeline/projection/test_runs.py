"""Runs: what is written is found again by its hash, little is read for it, and damage is seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.projection import runs
from pipeline.projection.runs import HASH, KEY, RETRACTED, SpoiledRunError, open_run, write_run

ALL = (0, 2**64 - 1)


def entries(hashes: list[int]) -> pa.Table:
    """Entries of those hashes; their keys are their numbers."""
    keys = pa.array([str(number).encode() for number in range(len(hashes))], pa.large_binary())
    return pa.table([pa.array(hashes, pa.uint64()), keys, pa.array([False] * len(hashes))], [HASH, KEY, RETRACTED])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three entries a block."""
    monkeypatch.setattr(runs, "BLOCK_ROWS", 3)


def numbers(found: pa.Table) -> list[int]:
    return [int(key) for key in found.column(KEY).to_pylist()]


HASHES = st.lists(st.integers(0, 12) | st.just(2**64 - 1), min_size=1, max_size=20).map(sorted)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hashes=HASHES, bounds=st.tuples(st.integers(0, 13), st.integers(0, 13) | st.just(2**64 - 1)))
def test_entries_between_two_hashes_are_found(
    small_blocks: None, tmp_path_factory: pytest.TempPathFactory, hashes: list[int], bounds: tuple[int, int]
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    assert write_run(path, [entries(hashes)]) == len(hashes)
    low, high = min(bounds), max(bounds)
    expected = [number for number, value in enumerate(hashes) if low <= value <= high]
    assert numbers(open_run(path).entries(low, high)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hashes=HASHES, among=st.sets(st.integers(0, 13) | st.just(2**64 - 1)).map(sorted))
def test_entries_of_some_hashes_are_found(
    small_blocks: None, tmp_path_factory: pytest.TempPathFactory, hashes: list[int], among: list[int]
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_run(path, [entries(hashes)])
    found = open_run(path).entries(*ALL, np.array(among, np.uint64))
    wanted = {number for number, value in enumerate(hashes) if value in among}
    assert wanted <= {*numbers(found)}
    assert len(found) <= max(len(wanted), 4 * len(among))


def test_pieces_are_written_one_after_another(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [entries([1]), entries([]), entries([2, 3])])
    run = open_run(tmp_path / "run")
    assert (run.rows, run.entries(*ALL).column(HASH).to_pylist()) == (3, [1, 2, 3])


def test_nothing_makes_no_file(tmp_path: Path) -> None:
    assert write_run(tmp_path / "run", [entries([])]) == 0
    assert not (tmp_path / "run").exists()


def test_dictionaries_in_records_come_back(tmp_path: Path) -> None:
    column = pa.array(["a", "b", "a"]).dictionary_encode()
    write_run(tmp_path / "run", [entries([1, 2, 3]).append_column("column0", column)])
    assert open_run(tmp_path / "run").entries(*ALL).column("column0").to_pylist() == ["a", "b", "a"]


def test_a_file_that_is_not_there_is_spoiled(tmp_path: Path) -> None:
    with pytest.raises(SpoiledRunError):
        open_run(tmp_path / "run")


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), flipped=st.integers(1, 255))
def test_any_changed_byte_is_seen(
    small_blocks: None, tmp_path_factory: pytest.TempPathFactory, at: float, flipped: int
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_run(path, [entries([*range(10)])])
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= flipped
    path.write_bytes(data)
    with pytest.raises(SpoiledRunError):
        open_run(path).entries(*ALL)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_off_anywhere_is_spoiled(
    small_blocks: None, tmp_path_factory: pytest.TempPathFactory, kept: float
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_run(path, [entries([*range(10)])])
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(SpoiledRunError):
        open_run(path)


def test_damage_elsewhere_is_not_met(small_blocks: None, tmp_path: Path) -> None:
    """Only blocks that are asked for are read: the others could be anything."""
    path = tmp_path / "run"
    write_run(path, [entries([*range(30)])])
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    assert numbers(open_run(path).entries(20, 22)) == [20, 21, 22]
