"""Chains of queries that remember records: made step by step, broken off, and verified by making them again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opendatafabric.errors import EngineDied, InvalidQuery
from opendatafabric.metadata.events import ExecuteTransform, SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TemporalTable, TransformInput, TransformSql
from pipeline.transform.run import transform
from tests.pipeline.datasets import day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of
from tests.verify.replaying import rewrite, verified
from verify.replayed import StepVerdict
from verify.report import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOIN = (
    "select greatest(c.event_time, t.event_time) as event_time, c.city, t.city as town from cities c join towns t"
    " on c.event_time between t.event_time - interval 1 day and t.event_time + interval 1 day"
)
LOOK_UP = (
    "select c.event_time, c.city, t.population as town from cities c left join towns t"
    " on c.city = t.city and c.event_time >= t.valid_from and c.event_time < t.valid_to"
)


def remembering(query: str, *tables: str) -> SetTransform:
    temporal = tuple(TemporalTable(name, ("city",)) for name in tables)
    sql = TransformSql("spark", "odf-epoch/1", queries=(SqlQueryStep(query=query),), temporal_tables=temporal)
    return SetTransform(tuple(TransformInput(id_of(name), name) for name in ("cities", "towns")), sql)


@pytest.fixture
async def workshop(spark: SparkSession, tmp_path: Path) -> Workshop:
    """Cities and towns, without any record."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(LocalEngine(tmp_path / "engine", lambda: spark), tmp_path / "files")
    await workshop.add_cities()
    await workshop.add_cities("towns")
    return workshop


async def fill(workshop: Workshop, derived: str = "") -> None:
    """Records of the second to the fourth of January, in three steps if there is something to derive."""
    for number in (2, 3, 4):
        await workshop.push("cities", on=number, kyiv=number)
        await workshop.push("towns", on=number, kyiv=number * 10)
        if derived:
            await workshop.step(derived, on=9)


async def rows(workshop: Workshop, name: str) -> list[tuple[Any, ...]]:
    found = await workshop.rows(name, "op", "event_time", "city", "town")
    return sorted((row["op"], row["event_time"].day, row["city"], row["town"]) for row in found)


PAIRS = [(0, 2, "kyiv", "kyiv"), *[(0, 3, "kyiv", "kyiv")] * 3, *[(0, 4, "kyiv", "kyiv")] * 3]
VERSIONS = [(0, number, "kyiv", number * 10) for number in (2, 3, 4)]


@pytest.mark.parametrize("name", ["in steps", "at once"])
async def test_steps_give_what_one_step_gives(workshop: Workshop, name: str) -> None:
    await workshop.add("pairs", remembering(JOIN))
    await workshop.add("found", remembering(LOOK_UP, "towns"))
    await fill(workshop, "pairs" if name == "in steps" else "")
    await workshop.step("pairs", on=9)
    await workshop.step("found", on=9)
    assert (await rows(workshop, "pairs"), await rows(workshop, "found")) == (PAIRS, VERSIONS)


async def test_a_step_that_was_broken_off_goes_on_from_what_the_last_one_kept(workshop: Workshop) -> None:
    class Dying(LocalEngine):
        async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
            await workshop.engine.run(job, arguments)
            raise EngineDied("killed")

    await workshop.add("pairs", remembering(JOIN))
    await fill(workshop, "pairs")
    await workshop.push("cities", on=5, lviv=5)
    dying = Dying(workshop.folder.parent / "dying")
    with pytest.raises(EngineDied):
        await transform(workshop.datasets["pairs"], workshop.find, dying, system_time=day(9))
    await workshop.step("pairs", on=9)
    assert (await rows(workshop, "pairs"))[-1:] == [(0, 5, "lviv", "kyiv")]
    assert len(await rows(workshop, "pairs")) == len(PAIRS) + 1


async def test_steps_are_valid_and_another_checkpoint_is_found(workshop: Workshop) -> None:
    await workshop.add("pairs", remembering(JOIN))
    await fill(workshop, "pairs")
    assert (await verified(workshop, "pairs")).verdict is Verdict.VALID
    kept = [step.new_checkpoint for step in await workshop.steps("pairs")]
    first, last = kept[0], kept[-1]
    assert first != last

    def other(event: ExecuteTransform) -> ExecuteTransform:
        return replace(event, new_checkpoint=first)

    workshop.datasets["pairs"] = await rewrite(workshop.datasets["pairs"], -1, other)
    report = await verified(workshop, "pairs")
    assert [step.verdict for step in report.steps or ()] == [StepVerdict.VALID] * 2 + [StepVerdict.MISMATCH]


async def test_names_of_inputs_are_told_apart_as_spark_does(workshop: Workshop) -> None:
    given = (TransformInput(id_of("cities"), "Cities"), TransformInput(id_of("towns"), "TOWNS"))
    await workshop.add("found", replace(remembering(LOOK_UP, "Towns"), inputs=given))
    await fill(workshop)
    await workshop.step("found", on=9)
    assert await rows(workshop, "found") == VERSIONS


WRONG = {
    "nowhere": "'nowhere' is no input",
    "cities": "the primary key of the temporal table 'cities' is none of its columns",
}


@pytest.mark.parametrize("name", WRONG)
async def test_temporal_tables_are_inputs_with_their_keys(workshop: Workshop, name: str) -> None:
    await fill(workshop)
    event = remembering(JOIN)
    table = TemporalTable(name, ("nothing",))
    await workshop.add("wrong", replace(event, transform=replace(event.transform, temporal_tables=(table,))))
    with pytest.raises(InvalidQuery, match=WRONG[name]):
        await workshop.step("wrong", on=9)
