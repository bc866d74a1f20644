"""Derivatives that do not follow from their inputs, and engines that fail, to be verified."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from opendatafabric.did import DatasetId
from opendatafabric.errors import EngineDied
from storage.dataset import Dataset
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, query_over
from tests.verify.forge import EventChange, Forge, RecordsChange
from verify.replay import Replay
from verify.report import Report, Verdict
from verify.verification import verify_dataset

LARGE = "select event_time, city, population from cities where population > 10"


_UNITED = (
    "select event_time, city, population + 1 as more from cities where population > 10"
    " union all select event_time, city, population from towns"
)
_THREE_STEPS = [{"kyiv": 30, "lviv": 5, "odesa": 20}, {"dnipro": 15, "poltava": 40}, {"kharkiv": 50}]


async def three_steps(workshop: Workshop, engine: str) -> Workshop:
    """Large cities and all towns, ``derived`` in three steps of four, three and one rows."""
    for name in ("cities", "towns"):
        await workshop.add_cities(name)
    await workshop.add("derived", query_over(_UNITED, "cities", "towns", engine=engine))
    for number, populations in enumerate(_THREE_STEPS):
        await workshop.push("cities", on=2 + number, **populations)
        await workshop.push("towns", on=2 + number, **{f"town-{each}": each for each in range(2 - number)})
        await workshop.step("derived", on=2 + number)
    return workshop


async def large_cities(workshop: Workshop) -> Workshop:
    """Cities of two days, and the large ones among them in two steps."""
    await workshop.add_cities()
    await workshop.add("large", query_over(LARGE, "cities"))
    await workshop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    await workshop.step("large", on=3)
    await workshop.push("cities", on=4, dnipro=15, poltava=3, kharkiv=40)
    await workshop.step("large", on=5)
    return workshop


async def verified(
    workshop: Workshop, name: str = "large", *, verdicts: dict[DatasetId, Verdict] | None = None, **options: Any
) -> Report:
    """The report on a dataset of the workshop."""
    options = {"find": workshop.find, "engine": workshop.engine, **options}
    return await verify_dataset(workshop.datasets[name], Replay(**options, verdicts=verdicts or {}))


async def rewrite(dataset: Dataset, step: int, change: EventChange) -> Dataset:
    """The same chain with another step of that number, the last being -1."""
    return await Forge(steps={step: change}).forged(dataset)


async def falsify(workshop: Workshop, change: RecordsChange, step: int = 0, name: str = "large") -> None:
    """Other records in the slice of a step."""
    workshop.datasets[name] = await Forge(records={step: change}).forged(workshop.datasets[name])


class NeverEnding(LocalEngine):
    """Takes a job and never answers."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}


class Dying(LocalEngine):
    """Ends in the middle."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise EngineDied("the worker ended")


def workshop_in(folder: Path) -> Workshop:
    """Empty, without Spark."""
    (folder / "files").mkdir()
    return Workshop(LocalEngine(folder / "engine"), folder / "files")
