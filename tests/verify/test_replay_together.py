"""Small steps that follow one another are repeated in one job; what differs there is repeated by itself, and told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opendatafabric.errors import EngineDied
from pipeline.transform.run import CONSECUTIVE_JOB
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, query_over
from tests.verify.forge import with_value
from tests.verify.replaying import falsify, verified
from verify.replayed import ReplayedStep, StepVerdict
from verify.report import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "select event_time, city, population + 1 as more from cities where population % 7 <> 3"
STEPS = 12


class Counting(LocalEngine):
    """Says which jobs it was asked for; those of steps together end it ``without`` them."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self.jobs: list[str] = []
        self.without = False

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.jobs.append(job)
        if self.without and job == CONSECUTIVE_JOB:
            raise EngineDied("the worker ended")
        return await super().run(job, arguments)


async def replayed(workshop: Workshop, *, without: bool = False) -> tuple[list[ReplayedStep], list[str], Verdict]:
    """The steps of ``derived``, the jobs that this took, and the verdict."""
    engine = workshop.engine
    assert isinstance(engine, Counting)
    engine.without, engine.jobs = without, []
    report = await verified(workshop, "derived")
    return list(report.steps or ()), engine.jobs, report.verdict


async def chain_of(workshop: Workshop, query: str, engine: str, steps: int = STEPS) -> Workshop:
    """``derived`` in that many steps; some have no records of their own."""
    await workshop.add_cities()
    await workshop.add("derived", query_over(query, "cities", engine=engine))
    for number in range(steps):
        await workshop.push("cities", on=2 + number, **{f"a{number}": number, f"b{number}": 7 * number + 3})
        await workshop.step("derived", on=2 + number)
    return workshop


def workshop_of(folder: Path, *options: Any) -> Workshop:
    """Empty."""
    (folder / "files").mkdir()
    return Workshop(Counting(folder / "engine", *options), folder / "files")


async def test_steps_of_other_engines_are_repeated_one_by_one(tmp_path: Path) -> None:
    workshop = await chain_of(workshop_of(tmp_path), QUERY, "datafusion", steps=3)
    assert (await replayed(workshop))[1:] == (["transform"] * 3, Verdict.VALID)


@pytest.mark.slow
class TestSpark:
    @pytest.fixture
    def empty(self, tmp_path: Path, spark: SparkSession) -> Workshop:
        return workshop_of(tmp_path, lambda: spark)

    async def test_they_are_repeated_in_one_job_as_one_by_one(self, empty: Workshop) -> None:
        workshop = await chain_of(empty, QUERY, "spark")
        steps, jobs, verdict = await replayed(workshop)
        assert (verdict, {step.verdict for step in steps}) == (Verdict.VALID, {StepVerdict.VALID})
        assert jobs == [CONSECUTIVE_JOB]
        assert (await replayed(workshop, without=True))[0] == steps

    async def test_a_false_step_among_them_is_told_by_its_rows(self, empty: Workshop) -> None:
        workshop = await chain_of(empty, QUERY, "spark")
        await falsify(workshop, with_value("more", 0, 99), step=5, name="derived")
        steps, jobs, verdict = await replayed(workshop)
        assert verdict is Verdict.INVALID
        assert [number for number, step in enumerate(steps) if step.verdict is not StepVerdict.VALID] == [5]
        assert [(row.column, row.expected) for row in steps[5].rows] == [("more", "99")]
        assert jobs == [CONSECUTIVE_JOB, "transform"]
        assert (await replayed(workshop, without=True))[0] == steps

    async def test_the_columns_of_the_system_go_through_as_they_are(self, empty: Workshop) -> None:
        query = "select a.offset as number, a.* except (op, offset, system_time) from (select * from cities) a"
        workshop = await chain_of(empty, query, "spark", steps=4)
        steps, jobs, verdict = await replayed(workshop)
        assert (verdict, jobs) == (Verdict.VALID, [CONSECUTIVE_JOB])
        assert [step.records_found for step in steps] == [2] * 4

    @pytest.mark.parametrize(
        "query",
        [
            "select max(event_time) as event_time, count(1) as many from cities",
            "select event_time, city from cities union all select event_time, city from cities",
            "select event_time, city from cities order by city desc",
        ],
    )
    async def test_others_are_repeated_one_by_one(self, empty: Workshop, query: str) -> None:
        workshop = await chain_of(empty, query, "spark", steps=4)
        steps, jobs, verdict = await replayed(workshop)
        assert (verdict, jobs) == (Verdict.VALID, [CONSECUTIVE_JOB, *["transform"] * 4])
        assert {step.verdict for step in steps} == {StepVerdict.VALID}

    async def test_a_query_cannot_say_what_its_rows_came_of(self, empty: Workshop) -> None:
        """A column of that name at the end is one like any other."""
        query = "select event_time, city, 1L - population as __odf_position from cities"
        workshop = await chain_of(empty, query, "spark", steps=4)
        steps, jobs, _ = await replayed(workshop)
        assert jobs == [CONSECUTIVE_JOB]
        assert (await replayed(workshop, without=True))[0] == steps

    async def test_steps_without_records_are_found_again(self, empty: Workshop) -> None:
        workshop = await chain_of(empty, QUERY + " and city like 'a%'", "spark")
        steps, jobs, verdict = await replayed(workshop)
        assert (verdict, jobs) == (Verdict.VALID, [CONSECUTIVE_JOB])
        assert [step.records_found for step in steps] == [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1]
