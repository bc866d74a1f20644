"""Derivatives over windows, from what is pushed into their inputs to what a replay says of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.sources import MergeStrategySnapshot
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.ingest import set_watermark
from tests.pipeline.datasets import csv_source, day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of
from tests.verify.replaying import verified
from verify.report import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_DAY = """
    select window.end as event_time, city, count(1) as n, sum(population) as total
    from cities group by window(event_time, '1 day'), city"""
PER_WEEK = """
    select window.end as event_time, count(1) as days, sum(total) as total
    from daily group by window(event_time, '7 days')"""


def in_epochs(query: str, name: str) -> SetTransform:
    sql = TransformSql("spark", "odf-epoch/1", queries=(SqlQueryStep(query=query),))
    return SetTransform((TransformInput(id_of(name), name),), sql)


@pytest.fixture
async def workshop(spark: SparkSession, tmp_path: Path) -> Workshop:
    """Cities, what they were per day, and what that was per week."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(LocalEngine(tmp_path / "engine", lambda: spark), tmp_path / "files")
    await workshop.add("cities", csv_source(MergeStrategySnapshot(("city",))))
    await workshop.add("daily", in_epochs(PER_DAY, "cities"))
    await workshop.add("weekly", in_epochs(PER_WEEK, "daily"))
    return workshop


async def fill(workshop: Workshop, *, each: bool) -> None:
    """A history of cities; with a step for each of its blocks, or with one for all of them."""
    days = [{"kyiv": 5, "lviv": 20}, {"kyiv": 5, "lviv": 21}, {"kyiv": 9, "lviv": 21}, {"kyiv": 9, "lviv": 1}]
    for number, populations in enumerate(days, start=2):
        await workshop.push("cities", on=number, **populations)
        if each:
            await step(workshop)
    await set_watermark(workshop.datasets["cities"], day(25), system_time=day(26))
    await step(workshop)


async def step(workshop: Workshop) -> None:
    for name in ("daily", "weekly"):
        await workshop.step(name, on=27)


@pytest.mark.parametrize("each", [False, True], ids=["one step", "many steps"])
async def test_windows_close_in_time_for_those_who_read_them_and_are_valid(workshop: Workshop, each: bool) -> None:
    await fill(workshop, each=each)
    daily = await workshop.rows("daily", "offset", "op", "event_time", "city", "n", "total")
    assert [(row["event_time"].day, row["city"], row["n"], row["total"]) for row in daily] == [
        (3, "kyiv", 1, 5),  # lviv was corrected while this was open
        (4, "lviv", 1, 21),
        (5, "kyiv", 1, 9),
        (6, "lviv", 1, 1),
    ]
    assert [(row["offset"], row["op"]) for row in daily] == [(number, 0) for number in range(4)]
    weekly = await workshop.rows("weekly", "event_time", "days", "total")
    assert [(row["event_time"].day, row["days"], row["total"]) for row in weekly] == [(4, 1, 5), (11, 3, 31)]
    for name in ("daily", "weekly"):
        report = await verified(workshop, name)
        assert (report.verdict, report.findings) == (Verdict.VALID, [])
        assert report.steps


async def test_a_block_that_says_a_watermark_alone_closes_windows(workshop: Workshop) -> None:
    await workshop.push("cities", on=2, kyiv=5)
    await workshop.step("daily", on=3)
    assert (await workshop.steps("daily"))[-1].new_data is None
    await set_watermark(workshop.datasets["cities"], day(3), system_time=day(4))
    outcome = await workshop.step("daily", on=5)
    assert outcome is not None
    assert (outcome.answer.rows.read, outcome.answer.rows.appended) == (0, 1)
    assert await workshop.step("daily", on=6) is None
