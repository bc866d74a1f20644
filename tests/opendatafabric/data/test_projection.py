"""The state a changelog leads to: with a primary key and without one, and what had happened by a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.projection import (
    happened_by,
    latest_records,
    project,
    reversals,
    suspects,
    taken_back,
)
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.instant import Instant
from tests.opendatafabric.data.changelogs import AIRPORTS, CF, CT, A, R, primary_key_of_airports, records


def state(table: pa.Table, key: tuple[str, ...] = ("city",)) -> list[tuple[Any, ...]]:
    return [(row["city"], row["n"]) for row in project(table, key).to_pylist()]


def test_the_last_record_of_a_key_is_its_state() -> None:
    table = records((0, A, "kyiv", 1), (1, A, "seattle", 2), (2, CF, "kyiv", 1), (3, CT, "kyiv", 4))
    assert state(table) == [("seattle", 2), ("kyiv", 4)]


def test_a_retracted_key_is_gone_until_it_is_added_again() -> None:
    rows = [(0, A, "a", 1), (1, R, "a", 1)]
    assert state(records(*rows)) == []
    assert state(records(*rows, (2, A, "a", 7))) == [("a", 7)]


def test_offsets_decide_and_not_the_order_of_rows() -> None:
    assert state(records((5, A, "a", 5), (1, A, "a", 1), (3, A, "a", 3))) == [("a", 5)]


def test_nulls_in_a_key_equal_each_other() -> None:
    assert state(records((0, A, None, 1), (1, A, None, 2))) == [(None, 2)]


def test_a_key_may_have_several_columns() -> None:
    table = records((0, A, "a", 1), (1, A, "a", 2), (2, R, "a", 1))
    assert state(table, ("city", "n")) == [("a", 2)]


def test_views_of_text_are_understood_wherever_they_lie() -> None:
    item = pa.struct([("x", pa.list_(pa.string_view()))])
    table = pa.table({"offset": [0, 1], "op": [0, 0], "k": pa.array(["a", "a"], pa.string_view())})
    table = table.append_column("deep", pa.array([{"x": ["u"]}, {"x": [None, "v"]}], item))
    assert project(table, ["k"]).to_pylist() == [{"offset": 1, "op": 0, "k": "a", "deep": {"x": [None, "v"]}}]


def test_an_empty_changelog_leads_to_an_empty_state() -> None:
    assert project(records(), ["city"]).num_rows == 0


def test_columns_may_have_other_names() -> None:
    table = records((0, A, "a", 1), (1, R, "a", 1)).rename_columns(["o", "kind", "city", "n"])
    assert project(table, ["city"], DatasetVocabulary("o", "kind")).num_rows == 0


@pytest.mark.parametrize("key", [["nothing"], ["op", "missing"]])
def test_a_key_that_is_no_column_is_refused(key: list[str]) -> None:
    with pytest.raises(MalformedData, match="no column"):
        project(records((0, A, "a", 1)), key)


def test_a_key_that_cannot_be_compared_is_refused() -> None:
    table = pa.table({"offset": [0], "op": [0], "k": [[1]]})
    with pytest.raises(MalformedData, match="cannot be compared"):
        project(table, ["k"])


CHANGES = st.lists(st.tuples(st.sampled_from([A, R, CF, CT]), st.sampled_from(["a", "b", None]), st.integers(0, 3)))


@given(CHANGES)
def test_projection_is_what_replaying_the_records_one_by_one_gives(changes: list[tuple[Any, ...]]) -> None:
    table = records(*((offset, *change) for offset, change in enumerate(changes)))
    last: dict[str | None, tuple[int, Any]] = {}
    for op, city, n in changes:
        last.pop(city, None)
        last[city] = (op, n)
    assert state(table) == [(city, n) for city, (op, n) in last.items() if op != R]


@given(CHANGES, st.integers(0, 10))
def test_the_latest_records_can_be_found_slice_by_slice(changes: list[tuple[Any, ...]], border: int) -> None:
    table = records(*((offset, *change) for offset, change in enumerate(changes)))
    first = latest_records(table.slice(0, border), ["city"])
    joined = pa.concat_tables([first, table.slice(border)])
    assert latest_records(joined, ["city"]).equals(latest_records(table, ["city"]))


def test_the_airports_end_as_their_first_version_for_they_came_back_to_it() -> None:
    slices = [pq.read_table(path) for path in AIRPORTS.iterdir()]
    changelog = pa.concat_tables(sorted(slices, key=lambda part: part["offset"][0].as_py()))
    first = slices[[part["offset"][0].as_py() for part in slices].index(0)]
    key = primary_key_of_airports()
    names = [name for name in changelog.schema.names if name not in ("offset", "op", "system_time", "event_time")]
    now, then = (
        project(part, key).select(names).sort_by([(name, "ascending") for name in key]) for part in (changelog, first)
    )
    assert now.equals(then)


def left(table: pa.Table) -> list[int]:
    """Offsets of the state without a key."""
    return project(table, None)["offset"].to_pylist()


def test_without_a_key_a_retraction_takes_back_the_record_it_repeats() -> None:
    assert left(records((0, A, "a", 1), (1, A, "b", 1), (2, R, "a", 1))) == [1]


def test_without_a_key_a_correction_leaves_its_second_half() -> None:
    assert left(records((0, A, "a", 1), (1, CF, "a", 1), (2, CT, "a", 2))) == [2]


def test_equal_records_are_taken_back_one_by_one_the_last_first() -> None:
    table = records((0, A, "a", 1), (1, A, "a", 1), (2, R, "a", 1), (3, A, "a", 1))
    assert left(table) == [0, 3]


def test_a_retraction_of_nothing_takes_nothing_back_that_comes_later() -> None:
    assert left(records((0, R, "a", 1), (1, A, "a", 1))) == [1]


def test_a_retraction_with_other_values_takes_nothing_back() -> None:
    assert left(records((0, A, "a", 1), (1, R, "a", 2), (2, R, None, 1))) == [0]


def test_nulls_equal_each_other_without_a_key_too() -> None:
    assert left(records((0, A, None, None), (1, R, None, None))) == []


def test_values_of_any_type_are_compared() -> None:
    table = pa.table({
        "offset": [0, 1, 2, 3],
        "op": [0, 0, 1, 1],
        "deep": [{"x": [1, None]}, {"x": []}, {"x": [1, None]}, None],
        "number": [float("nan"), 0.5, float("nan"), 0.5],
        "view": pa.array(["u", None, "u", None], pa.string_view()),
        "bytes": [b"", b"", b"", b""],
        "flag": [True, None, True, None],
    })  # fmt: skip
    assert left(table) == [1]


def test_system_time_may_differ_between_a_record_and_what_takes_it_back_but_event_time_may_not() -> None:
    times = {"event_time": [1, 2, 1], "system_time": [7, 8, 9]}
    table = pa.table({"offset": [0, 1, 2], "op": [0, 0, 1], "city": ["a"] * 3, **times})
    assert left(table) == [1]


@given(CHANGES, st.randoms())
def test_without_a_key_the_state_is_what_replaying_the_records_one_by_one_gives(
    changes: list[tuple[Any, ...]], random: Any
) -> None:
    stays: list[tuple[int, Any]] = []
    for offset, (op, *values) in enumerate(changes):
        if op in (A, CT):
            stays.append((offset, values))
        else:
            taken = next((record for record in reversed(stays) if record[1] == values), None)
            stays = [record for record in stays if record is not taken]
    rows = [(offset, *change) for offset, change in enumerate(changes)]
    random.shuffle(rows)
    assert left(records(*rows)) == [offset for offset, _ in stays]


WELL_FORMED = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 3) | st.none()), max_size=30)


@given(WELL_FORMED)
def test_both_ways_agree_where_retractions_repeat_the_record_of_their_key(snapshots: list[tuple[str, Any]]) -> None:
    held: dict[str, Any] = {}
    rows: list[tuple[Any, ...]] = []
    for city, n in snapshots:
        if n is None and city in held:
            rows.append((R, city, held.pop(city)))
        elif n is not None and city in held:
            rows += [(CF, city, held[city]), (CT, city, n)]
        elif n is not None:
            rows.append((A, city, n))
        held |= {} if n is None else {city: n}
    table = records(*((offset, *row) for offset, row in enumerate(rows)))
    assert project(table, None).equals(project(table, ["city"]))
    assert {row["city"]: row["n"] for row in project(table, None).to_pylist()} == held


@given(CHANGES, st.integers(0, 10))
def test_what_is_taken_back_can_be_found_slice_by_slice(changes: list[tuple[Any, ...]], border: int) -> None:
    table = records(*((offset, *change) for offset, change in enumerate(changes)))
    slices = [table.slice(0, border), table.slice(border)]
    reversing = pa.concat_tables([reversals(part) for part in slices])
    found = taken_back(pa.concat_tables([suspects(part, reversing) for part in slices]))
    assert found.equals(taken_back(table))


def test_only_records_that_may_be_taken_back_are_suspects() -> None:
    table = records((0, A, "a", 1), (1, A, "b", 1), (2, A, "c", 2), (3, R, "a", 1))
    assert suspects(table, reversals(table))["offset"].to_pylist() == [0, 3]
    assert not len(suspects(table, reversals(table.slice(0, 3))))


def test_the_airports_lead_to_the_same_state_with_their_key_and_without() -> None:
    changelog = pa.concat_tables([pq.read_table(path) for path in AIRPORTS.iterdir()])
    assert project(changelog, None).equals(project(changelog, primary_key_of_airports()))


def by(times: pa.Array, moment: str) -> list[bool]:
    return happened_by(pa.table({"event_time": times}), Instant.from_rfc3339(moment)).to_pylist()


def test_what_had_happened_is_not_after_the_moment_and_known() -> None:
    hours = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (1, 2, 3)]
    times = pa.array([*hours, None], pa.timestamp("ms", "UTC"))
    assert by(times, "2024-01-01T02:00:00Z") == [True, True, False, False]
    assert by(times, "2024-01-01T04:00:00+02:00") == [True, True, False, False]
    assert by(times, "2024-01-01T01:59:59.999999Z") == [True, False, False, False]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_a_date_happened_at_its_midnight(kind: pa.DataType) -> None:
    times = pa.array([date(2024, 1, 1), date(2024, 1, 2)], kind)
    assert by(times, "2024-01-01T23:59:59Z") == [True, False]
    assert by(times, "2024-01-02T00:00:00Z") == [True, True]


def test_event_times_of_another_type_are_refused() -> None:
    with pytest.raises(MalformedData, match="neither dates nor timestamps"):
        by(pa.array(["2024"]), "2024-01-01T00:00:00Z")
