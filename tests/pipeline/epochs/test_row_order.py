"""Rows without an order of their own come by their event time, then by all other columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import InvalidQuery
from pipeline.epochs.row_order import in_canonical_order

ROW = st.tuples(
    st.integers(0, 3), st.none() | st.text("abä", max_size=2), st.none() | st.lists(st.integers(0, 2), max_size=2)
)


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = [*zip(*rows, strict=True)] or [(), (), ()]
    types = (pa.timestamp("us", "UTC"), pa.string(), pa.list_(pa.int64()))
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table({"city": arrays[1], "event_time": arrays[0], "numbers": arrays[2]})


@given(st.lists(ROW, max_size=6), st.randoms())
def test_it_does_not_matter_how_they_came(rows: list[tuple[Any, ...]], chance: Any) -> None:
    others = [*rows]
    chance.shuffle(others)
    ordered = in_canonical_order(table(rows), "event_time")
    assert ordered.equals(in_canonical_order(table(others), "event_time"))
    assert ordered.column("event_time").to_pylist() == sorted(table(rows).column("event_time").to_pylist())


def test_within_a_time_the_first_column_decides_and_nulls_come_first() -> None:
    ordered = in_canonical_order(table([(1, "b", [1]), (1, None, [2]), (0, "z", []), (1, "a", [3])]), "event_time")
    assert ordered.column("city").to_pylist() == ["z", None, "a", "b"]


def test_what_has_no_order_is_refused_with_what_to_write_instead() -> None:
    times = pa.array([0, 0], pa.timestamp("us", "UTC"))
    maps = pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(InvalidQuery, match="by which rows cannot be put in order") as refused:
        in_canonical_order(pa.table({"event_time": times, "m": maps}), "event_time")
    assert "to_json" in str(refused.value.hint)
