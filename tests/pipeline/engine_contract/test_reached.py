"""Engines in images: run for a step, asked as any other, and gone afterwards whatever became of it."""

from __future__ import annotations

import asyncio
import secrets
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from opendatafabric.errors import EngineDied, EngineUnavailable, InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from pipeline.engine_contract import reached
from pipeline.engine_contract.elsewhere import EngineImage, EnginesElsewhere
from pipeline.engine_contract.preprocessing import PreprocessElsewhere
from pipeline.transform.run import transform
from tests.pipeline.container_runtime import FakeRuntime
from tests.pipeline.datasets import cities, csv_source, day, new_dataset, push
from tests.pipeline.transform.derived import LARGE, Workshop, query_over, shop_of_cities
from tests.source_tree import ROOT

ENGINE = f"cd {ROOT} && exec {sys.executable} -m tests.pipeline.engine_contract.engine_program"

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(tmp_path: Path) -> FakeRuntime:
    """With our engine as an image."""
    runtime = FakeRuntime.installed_in(tmp_path / "runtime")
    runtime.image("engine", ENGINE, digests=("engine@sha256:11",))
    return runtime


@pytest.fixture
def elsewhere(runtime: FakeRuntime) -> EnginesElsewhere:
    """The engine that calls itself ``datafusion`` is in an image."""
    return EnginesElsewhere({"datafusion": EngineImage("engine")}, str(runtime.program))


@pytest.fixture
async def shop(tmp_path: Path) -> Workshop:
    """Cities, and the large ones among them."""
    return await shop_of_cities(tmp_path)


async def step(shop: Workshop, elsewhere: EnginesElsewhere, name: str = "large", *, on: int = 3) -> None:
    await transform(shop.datasets[name], shop.find, shop.engine, system_time=day(on), elsewhere=elsewhere)


async def test_its_steps_are_the_same_as_ours(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime
) -> None:
    await shop.add("here", query_over(LARGE, "cities"))
    for number in (3, 5):
        await step(shop, elsewhere, on=number)
        await shop.step("here", on=number)
        await shop.push("cities", on=number + 1, dnipro=15)
    ours, theirs = await shop.steps("here"), await shop.steps("large")
    assert [each.new_data for each in ours] == [each.new_data for each in theirs]
    assert [each.new_watermark for each in ours] == [each.new_watermark for each in theirs]
    assert theirs[1].prev_checkpoint is not None
    assert runtime.all_were_removed()


async def test_a_container_sees_the_folders_of_the_job_and_one_of_them_to_read_only(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime
) -> None:
    await step(shop, elsewhere)
    given = runtime.options_of_run()
    volumes = [each.partition(":")[2] for each in given if each.startswith("--volume=")]
    assert volumes == ["/opt/engine/in:ro", "/opt/engine/out"]
    assert {"--rm", "--security-opt=no-new-privileges", "--publish=127.0.0.1::2884"} <= set(given)


async def test_queries_of_sources_are_asked_in_a_container_too(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime
) -> None:
    query = SqlQueryStep(query="select * from input where population > 10")
    source = replace(csv_source(), preprocess=TransformSql("DataFusion", queries=(query,)))
    dataset = await new_dataset(source)
    engine = PreprocessElsewhere(shop.engine, elsewhere)
    outcome = await push(dataset, engine, cities(shop.folder, lviv=5, kyiv=30), on=2)
    assert (outcome.answer.rows.read, outcome.answer.rows.appended) == (2, 1)
    assert runtime.all_were_removed()


async def test_in_a_network_without_a_way_out_it_is_reached_by_its_own_address(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime
) -> None:
    host = f"127.{secrets.randbelow(255) + 1}.{secrets.randbelow(255)}.{secrets.randbelow(254) + 1}"
    runtime.image("engine", f"export HOST={host}; {ENGINE}")
    await step(shop, replace(elsewhere, network="inside"))
    assert len(await shop.steps("large")) == 1
    assert "--network=inside" in runtime.options_of_run()


async def test_an_invalid_query_is_told_and_nothing_is_left(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime
) -> None:
    await shop.add("wrong", query_over("select nothing from cities", "cities"))
    with pytest.raises(InvalidQuery, match="nothing"):
        await step(shop, elsewhere, "wrong")
    assert runtime.all_were_removed()


@pytest.mark.parametrize(
    ("script", "told"),
    [("echo no memory; exit 137", "code 137: no memory"), (f"export DIES=1; {ENGINE}", "code 3: out of luck")],
    ids=["before it listens", "when it is asked"],
)
async def test_a_container_that_ends_is_told_with_its_last_words(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime, script: str, told: str
) -> None:
    runtime.image("engine", script)
    with pytest.raises(EngineDied, match=told):
        await step(shop, elsewhere)
    assert await shop.steps("large") == []
    assert runtime.all_were_removed()


async def test_a_container_that_does_not_listen_is_given_up(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reached, "ENGINE_START_S_MAX", 0.5)
    runtime.image("engine", "exec sleep 60")
    with pytest.raises(EngineUnavailable, match="does not listen on port 2884"):
        await step(shop, elsewhere)
    assert runtime.all_were_removed()


async def test_a_step_that_is_broken_off_takes_its_container_along(
    shop: Workshop, elsewhere: EnginesElsewhere, runtime: FakeRuntime, tmp_path: Path
) -> None:
    runtime.image("engine", f"touch {tmp_path}/runs; exec sleep 60")
    stepping = asyncio.create_task(step(shop, elsewhere))
    async with asyncio.timeout(60):
        while not (tmp_path / "runs").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
    stepping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stepping
    assert runtime.all_were_removed()
