"""Queries that take more time or memory than a job may have are ended, in a step and in its replay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import LimitExceeded
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, query_over
from tests.pipeline.transform.engine_without_spark import HERE
from verify.replay import Replay
from verify.replayed import StepVerdict
from verify.report import Verdict
from verify.verification import verify_dataset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LONG = (
    "with recursive counted as (select 1 as n union all select n + 1 from counted where n < 60000)"
    " select max(event_time) as event_time, max(n) as n from counted, cities"
)
LARGE = (
    "select max(event_time) as event_time, array_length(array_agg(text order by text)) as n from cities,"
    " (select repeat('x', 500) || value as text from generate_series(1, 300000))"
)
MEMORY_BYTES_MAX = 350_000_000
"""The engine itself takes half of that; the query takes more than it for as long as it sorts."""


@dataclass(frozen=True)
class Limited:
    """Jobs of a worker in little time."""

    client: WorkerClient
    timeout_s: float | None = None

    def folders(self) -> Any:
        return self.client.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.client.run(job, arguments, foreign=True, timeout_s=self.timeout_s)


Connect = Callable[..., WorkerClient]


@pytest.fixture
async def connect(tmp_path: Path) -> AsyncIterator[Connect]:
    """Clients of one place, whatever their options."""

    def make(**options: Any) -> WorkerClient:
        return WorkerClient(tmp_path / "place", WorkerOptions(engine=HERE, **options))

    yield make
    await make().end()


@pytest.fixture
async def workshop(tmp_path: Path) -> Workshop:
    """One city, and a derivative for each query."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(LocalEngine(tmp_path / "engine"), tmp_path / "files")
    await workshop.add_cities()
    await workshop.push("cities", on=2, kyiv=30)
    for name, query in (("long", LONG), ("large", LARGE)):
        await workshop.add(name, query_over(query, "cities"))
    return workshop


async def pulled(workshop: Workshop, name: str, engine: Limited) -> list[Any]:
    """What a step gives."""
    workshop.engine = engine
    await workshop.step(name, on=3)
    return [row["n"] for row in await workshop.rows(name, "n")]


async def test_a_step_that_takes_too_long_is_ended_and_with_more_time_it_is_made(
    workshop: Workshop, connect: Connect
) -> None:
    with pytest.raises(LimitExceeded, match="took too long"):
        await pulled(workshop, "long", Limited(connect(), timeout_s=0.1))
    assert await workshop.steps("long") == []
    assert await pulled(workshop, "long", Limited(connect())) == [60_000]
    short = Replay(workshop.find, Limited(connect()), timeout_s=0.1)
    report = await verify_dataset(workshop.datasets["long"], short)
    assert [step.verdict for step in report.steps or ()] == [StepVerdict.TIMED_OUT]
    long = Replay(workshop.find, Limited(connect()))
    assert (await verify_dataset(workshop.datasets["long"], long)).verdict is Verdict.VALID


async def test_a_step_that_takes_too_much_memory_is_ended_and_with_more_it_is_made(
    workshop: Workshop, connect: Connect
) -> None:
    with pytest.raises(LimitExceeded, match="too much memory"):
        await pulled(workshop, "large", Limited(connect(memory_bytes_max=MEMORY_BYTES_MAX)))
    assert await workshop.steps("large") == []
    assert await pulled(workshop, "large", Limited(connect())) == [300_000]
    tight = Replay(workshop.find, Limited(connect(memory_bytes_max=MEMORY_BYTES_MAX)))
    report = await verify_dataset(workshop.datasets["large"], tight)
    assert [step.verdict for step in report.steps or ()] == [StepVerdict.ENGINE_ERROR]
    assert report.verdict is Verdict.ERROR
