"""A derivative is brought up to date with its inputs, exactly once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.block_ref import HEAD
from opendatafabric.errors import (
    ChainsDiverged,
    DatasetNotFound,
    EngineDied,
    HashMismatch,
    IncompatibleSchema,
    InvalidQuery,
    MalformedData,
    OdfError,
    RefConflict,
    UnsupportedOperation,
)
from opendatafabric.layout import data_key
from opendatafabric.metadata.events import AddData, SetDataSchema, SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.ingest import set_watermark
from pipeline.transform.run import transform
from storage.dataset import Dataset
from tests.faults.faulty_stores import Faults, FaultyObjectStore
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of, query_over

LARGE = "select event_time, city, population from cities where population > 10"


@pytest.fixture
async def large(workshop: Workshop) -> Workshop:
    """Cities of the second of January, and the large ones among them."""
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    await workshop.add("large", query_over(LARGE, "cities"))
    return workshop


async def test_the_first_step_says_the_schema_and_takes_all_there_is(large: Workshop) -> None:
    outcome = await large.step("large", on=3)
    assert outcome is not None
    assert (outcome.answer.rows.read, outcome.answer.rows.appended) == (3, 2)
    schema, step = [block.event for block in await blocks_of(large.datasets["large"])][-2:]
    assert isinstance(schema, SetDataSchema)
    (made,) = await large.steps("large")
    assert made == step
    assert made.query_inputs[0].new_block_hash == await large.datasets["cities"].head()
    assert (made.query_inputs[0].prev_offset, made.query_inputs[0].new_offset) == (None, 2)
    assert made.new_watermark == day(2)
    assert await large.rows("large", "offset", "op", "city") == [
        {"offset": 0, "op": 0, "city": "kyiv"},
        {"offset": 1, "op": 0, "city": "odesa"},
    ]


async def test_the_next_step_takes_what_came_since(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.push("cities", on=4, dnipro=15)
    await large.push("cities", on=5, poltava=3, kharkiv=40)
    outcome = await large.step("large", on=6)
    assert outcome is not None
    assert outcome.answer.rows.read == 3
    first, second = await large.steps("large")
    assert second.query_inputs[0].prev_block_hash == first.query_inputs[0].new_block_hash
    assert (second.query_inputs[0].prev_offset, second.query_inputs[0].new_offset) == (2, 5)
    assert [row["city"] for row in await large.rows("large", "city")] == ["kyiv", "odesa", "dnipro", "kharkiv"]


async def test_many_small_steps_give_the_rows_of_one(large: Workshop) -> None:
    await large.add("at-once", query_over(LARGE, "cities"))
    for number in range(4, 8):
        await large.step("large", on=number)
        await large.push("cities", on=number, dnipro=number * 4)
    for name in ("large", "at-once"):
        await large.step(name, on=9)
    assert await large.rows("large", "offset", "city") == await large.rows("at-once", "offset", "city")


async def test_nothing_new_makes_no_block_and_asks_no_engine(large: Workshop) -> None:
    await large.step("large", on=3)
    assert isinstance(large.engine, LocalEngine)
    asked = large.engine.jobs_done
    assert await large.step("large", on=4) is None
    assert large.engine.jobs_done == asked


async def test_an_input_without_a_schema_is_waited_for(workshop: Workshop) -> None:
    await workshop.add_cities()
    await workshop.add("large", query_over(LARGE, "cities"))
    assert await workshop.step("large", on=3) is None


async def test_a_step_without_rows_says_how_far_it_read(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.push("cities", on=4, poltava=1)
    await large.step("large", on=5)
    last = (await large.steps("large"))[-1]
    assert (last.new_data, last.prev_offset, last.new_watermark) == (None, 1, day(4))
    assert await large.step("large", on=6) is None


async def test_a_watermark_alone_is_passed_on(large: Workshop) -> None:
    await large.step("large", on=3)
    await set_watermark(large.datasets["cities"], day(4), system_time=day(5))
    outcome = await large.step("large", on=6)
    assert outcome is not None
    assert (outcome.watermark, outcome.answer.rows.read) == (day(4), 0)


async def test_the_slowest_input_says_the_watermark_and_one_without_news_is_empty(large: Workshop) -> None:
    await large.add_cities("towns")
    await large.push("towns", on=4, bucha=1)
    query = "select event_time, city from cities union all select event_time, city from towns"
    await large.add("both", query_over(query, "cities", "towns"))
    await large.step("both", on=5)
    await large.push("towns", on=6, irpin=2)
    outcome = await large.step("both", on=7)
    assert outcome is not None
    assert outcome.watermark == day(2)
    last = (await large.steps("both"))[-1]
    assert last.query_inputs[0].new_block_hash is None
    assert [row["city"] for row in await large.rows("both", "city")] == ["lviv", "kyiv", "odesa", "bucha", "irpin"]


async def test_a_changed_query_goes_on_where_the_last_one_stopped(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.set("large", query_over(LARGE.replace("> 10", "< 10"), "cities"), on=4)
    assert await large.step("large", on=4) is None
    await large.push("cities", on=5, poltava=1, kharkiv=40)
    await large.step("large", on=6)
    assert [row["city"] for row in await large.rows("large", "city")] == ["kyiv", "odesa", "poltava"]


async def test_an_input_added_at_the_end_is_read_from_its_beginning(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.add_cities("towns")
    await large.push("towns", on=4, bucha=1)
    union = f"{LARGE} union all select event_time, city, population from towns"
    await large.set("large", query_over(union, "cities", "towns"), on=4)
    await large.step("large", on=5)
    last = (await large.steps("large"))[-1]
    assert [each.new_offset for each in last.query_inputs] == [None, 0]
    assert [row["city"] for row in await large.rows("large", "city")] == ["kyiv", "odesa", "bucha"]


async def test_another_input_in_the_place_of_one_is_refused(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.add_cities("towns")
    await large.set("large", query_over(LARGE.replace("cities", "towns"), "towns"), on=4)
    with pytest.raises(UnsupportedOperation, match="was another dataset in the step before"):
        await large.step("large", on=5)


async def test_an_input_whose_history_was_replaced_is_refused_with_what_to_do(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.add_cities()
    await large.push("cities", on=2, lviv=6)
    with pytest.raises(ChainsDiverged, match="its history was replaced") as refused:
        await large.step("large", on=5)
    assert "computed anew" in str(refused.value.hint)


async def test_an_input_that_is_not_here_is_named(workshop: Workshop) -> None:
    await workshop.add("large", query_over(LARGE, "cities"))
    with pytest.raises(DatasetNotFound, match=str(id_of("cities"))):
        await workshop.step("large", on=3)


async def test_a_root_is_not_transformed(large: Workshop) -> None:
    with pytest.raises(UnsupportedOperation, match="not derived"):
        await large.step("cities", on=3)


async def test_steps_see_their_inputs_and_the_steps_before_them(large: Workshop) -> None:
    steps = (
        SqlQueryStep("sized", "select event_time, city, population * 2 as twice from cities"),
        SqlQueryStep(None, "select event_time, city, twice from sized order by twice desc"),
    )
    inputs = (TransformInput(id_of("cities"), "cities"),)
    await large.add("sorted", SetTransform(inputs, TransformSql("datafusion", queries=steps)))
    await large.step("sorted", on=3)
    assert [row["twice"] for row in await large.rows("sorted", "twice")] == [60, 40, 10]


async def test_names_and_texts_like_functions_of_the_clock_are_no_calls(large: Workshop) -> None:
    query = "select event_time, city as now, 'random()' as version, 1 as \"current_date\" from cities -- uuid()"
    await large.add("named", query_over(query, "cities"))
    await large.step("named", on=3)
    assert (await large.rows("named", "now", "version", "current_date"))[0]["version"] == "random()"


async def test_an_operation_that_is_selected_is_carried(large: Workshop) -> None:
    await large.add("back", query_over("select 1 as op, event_time, city from cities", "cities"))
    await large.step("back", on=3)
    assert {row["op"] for row in await large.rows("back", "op")} == {1}


REFUSED: list[tuple[str, type[OdfError], str]] = [
    ("select city from cities", IncompatibleSchema, "no event time"),
    ("select city as event_time from cities", IncompatibleSchema, "is no time"),
    ("select * from cities", IncompatibleSchema, "a column 'offset'"),
    ("select event_time, 'x' as op from cities", IncompatibleSchema, "is no number"),
    ("select event_time, 7 as op from cities", MalformedData, "an operation 'op' that there is not"),
    ("select nothing from cities", InvalidQuery, "the query failed"),
    ("select event_time from nowhere", InvalidQuery, "the query failed"),
    ("create table x as select 1", InvalidQuery, "the query failed"),
    ("select now() as event_time from cities", InvalidQuery, r"uses 'now'.* \(line 1, column 8\)"),
    ("select event_time,\n current_date as d from cities", InvalidQuery, r"'current_date'.* \(line 2, column 2\)"),
    ('select event_time, "random"() as r from cities', InvalidQuery, "uses 'random'"),
    ("select event_time, UUID () as r from cities", InvalidQuery, "uses 'uuid'"),
]


@pytest.mark.parametrize(("query", "error", "told"), REFUSED, ids=[query for query, _, _ in REFUSED])
async def test_what_does_not_hold_is_refused_and_changes_nothing(
    large: Workshop, query: str, error: type[OdfError], told: str
) -> None:
    dataset = await large.add("wrong", query_over(query, "cities"))
    head = await dataset.head()
    with pytest.raises(error, match=told):
        await large.step("wrong", on=3)
    assert await dataset.head() == head


async def test_fewer_columns_than_before_are_refused(large: Workshop) -> None:
    await large.step("large", on=3)
    await large.set("large", query_over("select event_time, city from cities", "cities"), on=4)
    await large.push("cities", on=4, poltava=30)
    with pytest.raises(IncompatibleSchema, match="no longer gives population, which the dataset has"):
        await large.step("large", on=5)


async def test_an_engine_that_is_not_there_is_named(large: Workshop) -> None:
    await large.add("flinked", query_over(LARGE, "cities", engine="flink"))
    with pytest.raises(UnsupportedOperation, match="engine 'flink' of the transform is not configured"):
        await large.step("flinked", on=3)


async def test_a_damaged_slice_of_an_input_is_not_computed_from(large: Workshop) -> None:
    last = (await blocks_of(large.datasets["cities"]))[-1].event
    assert isinstance(last, AddData)
    assert last.new_data is not None
    objects: Any = large.datasets["cities"].objects
    key = data_key(last.new_data.physical_hash)
    raw = await objects.read(key, size_max=2**20)
    await objects.delete(key)
    await objects.put(key, raw[:-1] + b"?")
    with pytest.raises(HashMismatch, match="a slice of an input is damaged"):
        await large.step("large", on=3)


async def test_of_two_steps_at_once_one_is_made(large: Workshop) -> None:
    results = await asyncio.gather(large.step("large", on=3), large.step("large", on=3), return_exceptions=True)
    assert len(await large.steps("large")) == 1
    assert [type(each) for each in results if isinstance(each, Exception)] in ([], [RefConflict])


async def test_a_step_that_finds_the_head_moved_changes_nothing(large: Workshop) -> None:
    class Meanwhile(LocalEngine):
        async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
            answer = await super().run(job, arguments)
            if self.jobs_done == 1:
                await large.step("large", on=3)
            return answer

    slow = Meanwhile(large.folder.parent / "slow")
    with pytest.raises(RefConflict):
        await transform(large.datasets["large"], large.find, slow, system_time=day(3))
    assert len(await large.steps("large")) == 1


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_step_that_was_broken_off_is_made_once_the_next_time(large: Workshop, tmp_path: Path, cut: str) -> None:
    class Dying(LocalEngine):
        async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if cut == "after":
                await super().run(job, arguments)
            raise EngineDied("killed")

    head = await large.datasets["large"].head(HEAD)
    with pytest.raises(EngineDied):
        await transform(large.datasets["large"], large.find, Dying(tmp_path / "dying"), system_time=day(3))
    assert await large.datasets["large"].head() == head
    assert await large.step("large", on=4) is not None
    assert await large.step("large", on=5) is None
    assert len(await large.rows("large", "city")) == 2


@pytest.mark.slow
async def test_a_long_chain_of_an_input_is_not_read_from_its_beginning(large: Workshop) -> None:
    count = 80
    for _ in range(count):
        await large.push("cities", on=3, dnipro=15)
    await large.step("large", on=4)
    await large.push("cities", on=4, kharkiv=40)
    root, reads = large.datasets["cities"], Faults()
    objects: Any = root.objects
    large.datasets["cities"] = Dataset(FaultyObjectStore(objects, reads), root.refs)
    outcome = await large.step("large", on=5)
    assert outcome is not None
    assert outcome.answer.rows.read == 1
    assert len(reads.steps) < count / 2
