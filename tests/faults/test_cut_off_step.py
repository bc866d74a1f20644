"""A step of a derivative is cut off at everything that its stores do, before and after it, and made exactly once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import StorageError
from pipeline.transform.run import transform
from storage.dataset import Dataset
from tests.faults.faulty_stores import Faults, FaultyObjectStore, FaultyRefStore, broken
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, query_over
from tests.pipeline.transform.keeping import KeepingEngine, kept_cities

pytestmark = pytest.mark.slow

STEPS_MAX = 200
LARGE = query_over("select event_time, city from cities where population > 10", "cities")


async def workshop_at(folder: Path, engine: type[LocalEngine] = LocalEngine) -> Workshop:
    """Large cities that are one step behind."""
    (folder / "files").mkdir(parents=True)
    workshop = Workshop(engine(folder / "engine"), folder / "files")
    await workshop.add_cities()
    await workshop.push("cities", on=2, kyiv=30, lviv=5)
    await workshop.add("large", LARGE)
    await workshop.step("large", on=3)
    await workshop.push("cities", on=4, odesa=20, dnipro=15)
    return workshop


async def cut_off(workshop: Workshop, faults: Faults) -> None:
    """One step over faulty stores. An error after the head has moved may go unnoticed."""
    dataset: Any = workshop.datasets["large"]
    faulty = Dataset(FaultyObjectStore(dataset.objects, faults), FaultyRefStore(dataset.refs, faults))
    with suppress(StorageError):
        await transform(faulty, workshop.find, workshop.engine, system_time=day(5))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_whatever_was_cut_the_step_is_made_once(tmp_path: Path, after: bool) -> None:
    for strike_at in range(1, STEPS_MAX):
        workshop = await workshop_at(tmp_path / str(strike_at))
        faults = Faults(strike_at, broken, after=after)
        before = await blocks_of(workshop.datasets["large"])
        await cut_off(workshop, faults)
        assert len(await blocks_of(workshop.datasets["large"])) - len(before) in {0, 1}, faults.steps
        await workshop.step("large", on=6)
        rows = [(row["offset"], row["city"]) for row in await workshop.rows("large", "offset", "city")]
        assert rows == [(0, "kyiv"), (1, "odesa"), (2, "dnipro")], faults.steps
        assert len(await workshop.steps("large")) == 2
        if len(faults.steps) < strike_at:
            assert {step.split()[0] for step in faults.steps} >= {"publish", "put_many", "compare_and_swap"}
            return
    raise AssertionError("the step never came to its end")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_what_was_remembered_belongs_to_the_last_step_whatever_was_cut(tmp_path: Path, after: bool) -> None:
    for strike_at in range(1, STEPS_MAX):
        workshop = await workshop_at(tmp_path / str(strike_at), KeepingEngine)
        faults = Faults(strike_at, broken, after=after)
        await cut_off(workshop, faults)
        cut = len(await workshop.steps("large"))
        assert await kept_cities(workshop, "large") == [["kyiv", "lviv"], ["kyiv", "lviv", "odesa", "dnipro"]][:cut]
        await workshop.step("large", on=6)
        assert await kept_cities(workshop, "large") == [["kyiv", "lviv"], ["kyiv", "lviv", "odesa", "dnipro"]]
        if len(faults.steps) < strike_at:
            return
    raise AssertionError("the step never came to its end")
