"""Rows by event time, ties by their place in the input, however they are cut into pieces and runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import chain

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.merge import time_order
from pipeline.merge.time_order import OutOfTimeOrderError, already_in_order, put_in_order

PIECES = st.lists(st.lists(st.integers(-3, 3), max_size=5), min_size=1, max_size=8)


def pieces_of(times: list[list[int]]) -> Iterator[pa.Table]:
    """A table for each list, with the place of every row."""
    place = 0
    for part in times:
        column = pa.array(part, pa.int64()).cast(pa.timestamp("ms", "UTC"))
        yield pa.table({"t": column, "place": pa.array(range(place, place + len(part)), pa.int64())})
        place += len(part)


@given(PIECES, st.sampled_from([1, 100, 10_000]), st.sampled_from([1, 40, 10_000]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_joined_are_all_rows_sorted(
    monkeypatch: pytest.MonkeyPatch, times: list[list[int]], run_bytes: int, batch_bytes: int
) -> None:
    monkeypatch.setattr(time_order, "SORT_RUN_BYTES", run_bytes)
    monkeypatch.setattr(time_order, "SORT_BATCH_BYTES", batch_bytes)
    found = pa.concat_tables(put_in_order(pieces_of(times), "t"))
    expected = sorted((time, place) for place, time in enumerate(list(chain.from_iterable(times))))
    assert found.schema == next(pieces_of(times)).schema
    assert list(zip(found["t"].cast(pa.int64()).to_pylist(), found["place"].to_pylist(), strict=True)) == expected


@given(PIECES)
def test_rows_in_order_pass_as_they_are_and_others_are_told(times: list[list[int]]) -> None:
    flat = list(chain.from_iterable(times))
    if flat == sorted(flat):
        assert list(already_in_order(pieces_of(times), "t")) == list(pieces_of(times))
    else:
        with pytest.raises(OutOfTimeOrderError):
            list(already_in_order(pieces_of(times), "t"))


def test_dates_are_in_order_too() -> None:
    days = pa.table({"t": pa.array([date(2024, 1, 2), date(1969, 1, 1)], pa.date32())})
    assert pa.concat_tables(put_in_order(iter([days]), "t")).to_pylist()[0] == {"t": date(1969, 1, 1)}
