"""Operations, corrections in pairs, and the state a changelog leads to."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.changelog import OperationType, check_corrections, check_operations, latest_records, project
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from tests.vectors.load import FOLDER

AIRPORTS = FOLDER / "datasets" / "us.faa.airports" / "data"
SCHEMA = pa.schema([("offset", pa.int64()), ("op", pa.int32()), ("city", pa.string()), ("n", pa.int64())])
A, R, CF, CT = OperationType


def records(*rows: tuple[Any, ...]) -> pa.Table:
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        if rows
        else [pa.array([], field.type) for field in SCHEMA],
        schema=SCHEMA,
    )


def state(table: pa.Table, key: tuple[str, ...] = ("city",)) -> list[tuple[Any, ...]]:
    return [(row["city"], row["n"]) for row in project(table, key).to_pylist()]


def test_operations_have_the_numbers_and_symbols_of_the_specification() -> None:
    assert [(int(op), op.symbol) for op in OperationType] == [(0, "+A"), (1, "-R"), (2, "-C"), (3, "+C")]


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


def primary_key_of_airports() -> list[str]:
    text = AIRPORTS.parent.with_name("us.faa.airports.log.yaml").read_text()
    lines = text.split("primaryKey:\n")[1].splitlines()
    return [
        line.strip(" -")
        for line in lines[: next(i for i, line in enumerate(lines) if not line.strip().startswith("-"))]
    ]


@pytest.mark.parametrize("path", sorted(AIRPORTS.iterdir()), ids=lambda path: path.name[-8:])
def test_corrections_of_a_real_dataset_come_in_pairs(path: Any) -> None:
    check_corrections(pq.read_table(path), primary_key_of_airports())


def test_pairs_of_equal_keys_next_to_each_other_are_fine() -> None:
    check_corrections(
        records((0, CF, "a", 1), (1, CT, "a", 2), (2, CF, None, 1), (3, CT, None, 2), (4, A, "b", 1)), ["city"]
    )
    check_corrections(records(), ["city"])


@pytest.mark.parametrize(
    ("rows", "offset"),
    [
        ([(7, CF, "a", 1)], 7),
        ([(7, CT, "a", 1)], 7),
        ([(7, CF, "a", 1), (8, CT, "b", 1)], 7),
        ([(7, CF, "a", 1), (8, A, "b", 1), (9, CT, "a", 1)], 7),
        ([(7, CT, "a", 1), (8, CF, "a", 1)], 7),
        ([(7, CF, "a", 1), (8, CT, "a", 1), (9, CT, "a", 2)], 9),
        ([(7, CF, "a", 1), (8, CF, "a", 1), (9, CT, "a", 2)], 7),
        ([(7, CF, None, 1), (8, CT, "a", 2)], 7),
    ],
)
def test_half_a_correction_is_refused_by_its_offset(rows: list[tuple[Any, ...]], offset: int) -> None:
    with pytest.raises(MalformedData, match=rf"offset {offset} lacks its other half"):
        check_corrections(records(*rows), ["city"])


@pytest.mark.parametrize("op", [4, -1, None])
def test_an_unknown_operation_is_refused_by_its_offset(op: int | None) -> None:
    with pytest.raises(MalformedData, match="offset 8 has no known operation"):
        check_operations(records((7, A, "a", 1), (8, op, "a", 1)))
