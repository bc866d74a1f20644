"""What an engine has to remember goes from step to step with the dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import HashMismatch
from opendatafabric.layout import checkpoint_key
from opendatafabric.metadata.events import SetInfo
from pipeline.ingest import set_watermark
from pipeline.transform.input_block import InputBlock
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import Workshop, query_over
from tests.pipeline.transform.keeping import KeepingEngine, kept_cities

ALL = query_over("select event_time, city from cities", "cities")


@pytest.fixture
async def kept(tmp_path: Path) -> Workshop:
    """Cities that came in two blocks, and a step over them."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(KeepingEngine(tmp_path / "engine"), tmp_path / "files")
    await workshop.add_cities()
    await workshop.push("cities", on=2, kyiv=1)
    await workshop.push("cities", on=3, lviv=2)
    await workshop.add("all", ALL)
    await workshop.step("all", on=4)
    return workshop


async def test_a_checkpoint_is_stored_with_the_slice_and_given_to_the_next_step(kept: Workshop) -> None:
    await kept.push("cities", on=5, odesa=3)
    await kept.step("all", on=6)
    first, second = await kept.steps("all")
    assert first.prev_checkpoint is None
    assert first.new_checkpoint is not None
    assert second.prev_checkpoint == first.new_checkpoint.physical_hash
    assert await kept_cities(kept, "all") == [["kyiv", "lviv"], ["kyiv", "lviv", "odesa"]]


async def test_an_engine_is_told_the_blocks_and_the_watermarks(kept: Workshop) -> None:
    await kept.push("cities", on=5, odesa=3)
    await kept.push("cities", on=6, dnipro=3)
    await kept.step("all", on=7)
    assert isinstance(kept.engine, KeepingEngine)
    asked = kept.engine.asked
    assert [each.inputs[0].blocks for each in asked] == [
        (InputBlock(0, None, day(2)), InputBlock(1, day(2), day(3))),
        (InputBlock(2, day(3), day(5)), InputBlock(3, day(5), day(6))),
    ]
    memories = [each.memory for each in asked if each.memory is not None]
    assert [(each.watermark_before, each.watermark) for each in memories] == [(None, day(3)), (day(3), day(6))]


async def test_a_watermark_alone_asks_the_engine_which_may_close_something(kept: Workshop) -> None:
    await set_watermark(kept.datasets["cities"], day(8), system_time=day(9))
    await kept.step("all", on=10)
    assert isinstance(kept.engine, KeepingEngine)
    assert kept.engine.asked[-1].inputs[0].blocks == (InputBlock(1, day(3), day(8)),)
    last = (await kept.steps("all"))[-1]
    assert (last.new_data, last.new_watermark) == (None, day(8))
    assert last.new_checkpoint is not None
    assert last.new_checkpoint.physical_hash == last.prev_checkpoint


async def test_the_watermark_before_is_found_behind_blocks_without_data(kept: Workshop) -> None:
    await kept.push("cities", on=5, odesa=3)
    await kept.set("cities", SetInfo(description="Cities"), on=5)
    await kept.step("all", on=6)
    await kept.push("cities", on=7, dnipro=3)
    await kept.step("all", on=8)
    assert isinstance(kept.engine, KeepingEngine)
    assert kept.engine.asked[-1].inputs[0].blocks == (InputBlock(3, day(5), day(7)),)


async def test_a_damaged_checkpoint_is_not_computed_from(kept: Workshop) -> None:
    (step,) = await kept.steps("all")
    assert step.new_checkpoint is not None
    objects, key = kept.datasets["all"].writable_objects(), checkpoint_key(step.new_checkpoint.physical_hash)
    raw = await objects.read(key, size_max=2**20)
    await objects.delete(key)
    await objects.put(key, raw[:-1] + b"?")
    await kept.push("cities", on=5, odesa=3)
    with pytest.raises(HashMismatch, match="the checkpoint of the last step is damaged"):
        await kept.step("all", on=6)
