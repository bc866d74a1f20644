"""The dialect in Spark: rows come as their records did, and it does not matter how steps were cut."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opendatafabric.errors import IncompatibleSchema, InvalidQuery, UnsupportedVersion
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.sources import MergeStrategySnapshot
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from tests.pipeline.datasets import csv_source
from tests.pipeline.epochs.written import Written
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def in_epochs(*queries: str, version: str = "odf-epoch/1") -> SetTransform:
    """A transform over cities and towns; steps before the last one are called ``step_0``, ``step_1`` …"""
    steps = [SqlQueryStep(f"step_{index}", query) for index, query in enumerate(queries[:-1])]
    sql = TransformSql("spark", version, queries=(*steps, SqlQueryStep(query=queries[-1])))
    return SetTransform(tuple(TransformInput(id_of(name), name) for name in ("cities", "towns")), sql)


@pytest.fixture
async def workshop(spark: SparkSession, tmp_path: Path) -> Workshop:
    """Cities whose populations are corrected, and towns that only come."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(LocalEngine(tmp_path / "engine", lambda: spark), tmp_path / "files")
    await workshop.add("cities", csv_source(MergeStrategySnapshot(("city",))))
    await workshop.add_cities("towns")
    return workshop


async def derived(workshop: Workshop, *queries: str, each: bool) -> list[dict[str, Any]]:
    """What comes of a history of two inputs, with a step for each of its blocks or with one for all of them."""
    await workshop.add("derived", in_epochs(*queries))
    await workshop.push("towns", on=2, bucha=1, irpin=2)
    for day, populations in enumerate([{"kyiv": 5, "lviv": 20}, {"kyiv": 30, "lviv": 20}, {"kyiv": 4}], start=2):
        await workshop.push("cities", on=day, **populations)
        if each:
            await workshop.step("derived", on=9)
    await workshop.step("derived", on=9)
    return [dict(row) for row in await workshop.rows("derived", "offset", "op", "system_time", "city", "size")]


CITIES = [(0, "kyiv", 5), (0, "lviv", 20), (2, "kyiv", 5), (3, "kyiv", 30), (2, "kyiv", 30), (3, "kyiv", 4)]
GOLDEN: dict[str, tuple[tuple[str, ...], list[tuple[int, str, int]]]] = {
    "a map carries corrections": (
        ("select event_time, city, population * 2 as size from cities where city = 'kyiv'",),
        [(0, "kyiv", 10), (2, "kyiv", 10), (3, "kyiv", 60), (2, "kyiv", 60), (3, "kyiv", 8)],
    ),
    "a filter that keeps one half": (
        ("select event_time, city, population as size from cities where population > 10 and city = 'kyiv'",),
        [(0, "kyiv", 30), (1, "kyiv", 30)],
    ),
    "steps and parts by WITH": (
        (
            "select * from cities where city = 'kyiv'",
            "with small as (select event_time, city, population as size from step_0 where population < 10)"
            " select * from small",
        ),
        [(0, "kyiv", 5), (1, "kyiv", 5), (0, "kyiv", 4)],
    ),
    "lists give rows of their own": (
        ("select event_time, city, size from cities lateral view explode(array(population, 0)) as size"
         " where city = 'kyiv' and population < 10",),
        [(0, "kyiv", 5), (0, "kyiv", 0), (1, "kyiv", 5), (1, "kyiv", 0), (0, "kyiv", 4), (0, "kyiv", 0)],
    ),
}  # fmt: skip


def told(rows: list[dict[str, Any]]) -> list[tuple[int, str, int]]:
    return [(row["op"], row["city"], row["size"]) for row in rows]


@pytest.mark.parametrize("each", [False, True], ids=["one step", "many steps"])
@pytest.mark.parametrize("name", GOLDEN)
async def test_rows_and_operations_follow_the_records(workshop: Workshop, name: str, each: bool) -> None:
    queries, expected = GOLDEN[name]
    kept = [row for row in await derived(workshop, *queries, each=each) if row["city"] == "kyiv"]
    assert told(kept) == expected
    assert [row["offset"] for row in kept] == list(range(len(kept)))


async def test_parts_of_a_union_come_one_after_another_in_each_step(workshop: Workshop) -> None:
    columns = "event_time, city, population as size"
    union = f"select {columns} from cities union all select {columns} from towns union all select {columns} from towns"
    rows = told(await derived(workshop, union, each=True))
    towns = [(0, "bucha", 1), (0, "irpin", 2)]
    first = CITIES[:2] + towns + towns
    assert rows[: len(first)] == first
    assert sorted(rows[len(first) :]) == sorted([*CITIES[2:], (1, "lviv", 20)])


REFUSED = {
    "select event_time, count(1) as n from cities group by event_time": "Aggregate (line 1, column 46)",
    "select distinct city from cities": "not by the event times of its inputs (line 1, column 8)",
    "select city from cities union select city from towns": "not by the event times of its inputs (line 1, column 25)",
    "select event_time, upper(city) as x from (select distinct event_time, city from cities)": "(line 1, column 50)",
    "select c.event_time from cities c join towns t on c.city = t.city": "both may be (line 1, column 35)",
    "select c.event_time from cities c join towns t on c.event_time = t.event_time group by 1": "Aggregate",
    "select distinct c.event_time from cities c join towns t using (event_time)": "Join (line 1, column 44)",
    "select event_time from cities order by city": "Sort (line 1, column 31)",
    "select event_time from cities limit 1": "GlobalLimit (line 1, column 31)",
    "select event_time, row_number() over (order by city) as n from cities": "Window (line 1, column 33)",
    "select event_time from cities where city in (select city from towns)": "subquery",
    "select event_time, (select max(city) from towns) as x from cities": "subquery",
    "select event_time from cities intersect select event_time from towns": "Intersect (line 1, column 31)",
    "select event_time from cities except select event_time from towns": "Except (line 1, column 31)",
    "select timestamp'2024-01-01' as event_time": "OneRowRelation",
    "select event_time from values (timestamp'2024-01-01') as t(event_time)": "LocalRelation (line 1, column 24)",
    "select event_time, first(city) as x from cities group by event_time": "AggregateExpression",
    "select event_time, collect_list(city) as x from cities group by event_time": "'collect_list', which is not one",
    "select event_time, rand() as x from cities": "'rand', which is not one",
    "select event_time, current_date as x from cities": "'current_date', which is not one",
}


@pytest.mark.parametrize("query", REFUSED)
async def test_what_cannot_be_computed_record_by_record_is_refused_with_its_place(
    workshop: Workshop, query: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        await derived(workshop, query, each=False)
    assert REFUSED[query] in refused.value.message


async def test_an_operation_of_its_own_is_refused(workshop: Workshop) -> None:
    with pytest.raises(IncompatibleSchema, match="operation 'op' of its own"):
        await derived(workshop, "select op, event_time, city from cities", each=False)


async def test_a_newer_dialect_is_refused(workshop: Workshop) -> None:
    await workshop.push("cities", on=2, kyiv=5)
    await workshop.push("towns", on=2, bucha=1)
    await workshop.add("derived", in_epochs("select event_time from cities", version="odf-epoch/2"))
    with pytest.raises(UnsupportedVersion, match="odf-epoch/2"):
        await workshop.step("derived", on=3)


def test_large_inputs_keep_their_order_in_parallel(spark: SparkSession, tmp_path: Path) -> None:
    written = Written(tmp_path, Written.table([(0, number) for number in range(100_000)]))
    found = written.run(spark, "select event_time, n from input where n % 2 = 1", [])
    assert found.column("n").to_pylist() == list(range(1, 100_000, 2))


@pytest.mark.parametrize("name", ["__odf_position", "__ODF_POSITION", "N"])
def test_names_that_spark_takes_for_the_same_do_no_harm(spark: SparkSession, tmp_path: Path, name: str) -> None:
    records = Written.table([(0, 1), (1, 2), (2, 3), (3, 4)])
    written = Written(tmp_path, records.append_column(name, records.column("n")))
    query = "select event_time, op + 10 as x from input where op <> 2"
    found = written.run(spark, query, [])
    assert found.column("x").to_pylist() == [10, 11, 13]
    assert found.column("op").to_pylist() == [0, 1, 0]
