"""Rows of two files are compared by their place, however the files are cut into groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.limits import REPLAY_ROWS_SHOWN_MAX, REPLAY_VALUE_CHARS_MAX
from verify.replayed import RowDifference
from verify.row_differences import row_differences


def written(path: Path, columns: dict[str, Any], *, group: int = 1_000) -> Path:
    """A file of those columns in groups of that many rows."""
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def compared(folder: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> tuple[RowDifference, ...]:
    """From offset 10 on."""
    return row_differences(written(folder / "theirs", theirs), written(folder / "ours", ours), first_offset=10)


def test_the_same_rows_do_not_differ(tmp_path: Path) -> None:
    rows = {"a": [1, None, 3], "b": [[1.5], None, [float("nan")]]}
    assert compared(tmp_path, rows, rows) == ()


@pytest.mark.parametrize(
    ("theirs", "ours", "told"),
    [
        ([1, 2], [1, 3], ("2", "3")),
        ([1, None], [1, 0], ("null", "0")),
        ([[1], [2]], [[1], [2, 3]], ("[2]", "[2, 3]")),
        ([0.0, 0.0], [0.0, -0.0], ("0.0", "-0.0")),
    ],
)
def test_the_value_that_differs_is_told_from_both_sides(
    tmp_path: Path, theirs: list[object], ours: list[object], told: tuple[str, str]
) -> None:
    assert compared(tmp_path, {"v": theirs, "same": ["x", "y"]}, {"v": ours, "same": ["x", "y"]}) == (
        RowDifference(11, "v", *told),
    )


def test_rows_of_one_side_only_come_after_all_others(tmp_path: Path) -> None:
    (more,) = compared(tmp_path, {"a": [1, 2]}, {"a": [1]})
    assert (more.offset, more.column, more.expected, more.found) == (11, None, "{'a': 2}", None)
    assert str(more) == "at offset 11, where no row is given"
    (more,) = compared(tmp_path, {"a": [1]}, {"a": [1, 2]})
    assert str(more) == "at offset 11, where no row is recorded"


def test_a_column_of_one_side_only_is_null_on_the_other(tmp_path: Path) -> None:
    assert compared(tmp_path, {"a": [1], "b": [2]}, {"a": [1]}) == (RowDifference(10, "b", "2", "null"),)


def test_only_the_first_rows_are_told_and_long_values_are_cut(tmp_path: Path) -> None:
    found = compared(tmp_path, {"a": ["x" * 10_000] * 50}, {"a": ["y"] * 50})
    assert len(found) == REPLAY_ROWS_SHOWN_MAX
    assert found[0].expected == "x" * REPLAY_VALUE_CHARS_MAX + "…"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(1, 15), st.integers(1, 15), st.data())
def test_one_altered_row_is_found_however_files_are_grouped(
    tmp_path: Path, count: int, one: int, other: int, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, count - 1))
    values = list(range(count))
    theirs = written(tmp_path / "theirs", {"a": values}, group=one)
    ours = written(tmp_path / "ours", {"a": [-1 if value == row else value for value in values]}, group=other)
    assert row_differences(theirs, ours, first_offset=0) == (RowDifference(row, "a", str(row), "-1"),)
