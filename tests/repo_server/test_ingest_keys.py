"""Exactly once by idempotency key: repeated, changed, cut off at every step, tried by several servers at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.datasets import Datasets
from catalog.ingest_plans import IngestPlans
from opendatafabric.errors import EngineDied
from opendatafabric.metadata.events import AddData
from repo_server import ingesting
from repo_server.app import running
from repo_server.config import Tenancy
from storage.dataset import Dataset
from tests.pipeline.datasets import blocks_of
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.ingested import CSV, add_root, engine_without_spark, push

pytestmark = pytest.mark.slow

OTHER = b"city,population\nodesa,1\n"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine_without_spark(tmp_path / "engine")) as running_server:
        yield running_server


async def slices(dataset: Dataset) -> int:
    return sum(isinstance(block.event, AddData) for block in await blocks_of(dataset))


async def test_the_same_request_is_answered_the_same_and_makes_no_second_block(server: Hosted) -> None:
    dataset = await add_root(server)
    first, again = [await push(server, Idempotency_Key="one") for _ in range(2)]
    assert (first.status, first.body) == (again.status, again.body)
    assert ("Idempotent-Replayed" in first.headers, again.headers["Idempotent-Replayed"]) == (False, "true")
    assert await slices(dataset) == 1


async def test_it_is_so_after_others_wrote_and_after_a_restart(tmp_path: Path) -> None:
    engine = engine_without_spark(tmp_path / "engine")
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine) as server:
        dataset = await add_root(server)
        first = await push(server, Idempotency_Key="one")
        await push(server, OTHER)
        async with running(server.settings, engine=engine) as url:
            again = await push(replace(server, url=url), Idempotency_Key="one")
        assert again.body == first.body
        assert await slices(dataset) == 2


async def test_without_a_key_the_same_data_enter_again(server: Hosted) -> None:
    dataset = await add_root(server)
    for _ in range(2):
        await push(server)
    assert await slices(dataset) == 2


async def test_keys_of_other_datasets_and_accounts_are_others(server: Hosted) -> None:
    await add_root(server)
    await add_root(server, "others")
    answers = [
        await push(server, Idempotency_Key="one"),
        await push(server, Idempotency_Key="one", name="others"),
        await push(server, Idempotency_Key="one", who="root"),
    ]
    assert [json.loads(answer.body)["rows"]["appended"] for answer in answers] == [2, 2, 2]
    assert not any("Idempotent-Replayed" in answer.headers for answer in answers)


@pytest.mark.parametrize("other", [{"data": OTHER}, {"odf_event_time": "2020-01-01T00:00:00Z"}], ids=str)
async def test_another_request_under_the_key_is_409(server: Hosted, other: dict[str, str]) -> None:
    dataset = await add_root(server)
    await push(server, Idempotency_Key="one")
    answer = await push(server, **{"data": CSV, **other}, Idempotency_Key="one")  # type: ignore[arg-type]
    assert (answer.status, json.loads(answer.body)["code"]) == (409, "conflict")
    assert await slices(dataset) == 1


async def test_nothing_new_is_an_outcome_that_is_kept_too(server: Hosted) -> None:
    await add_root(server)
    await push(server)
    first = await push(server, b"city,population\n", Idempotency_Key="one")
    await push(server, OTHER)
    assert (await push(server, b"city,population\n", Idempotency_Key="one")).body == first.body


async def test_what_was_refused_may_be_corrected_under_its_key(server: Hosted) -> None:
    dataset = await add_root(server)
    assert (await push(server, b"city,population\nkyiv,many\n", Idempotency_Key="one")).status == 400
    assert (await push(server, Idempotency_Key="one")).status == 200
    assert await slices(dataset) == 1


async def test_the_same_request_many_times_at_once_enters_once(server: Hosted) -> None:
    dataset = await add_root(server)
    answers = await asyncio.gather(*(push(server, Idempotency_Key="one") for _ in range(8)))
    assert len({answer.body for answer in answers}) == 1
    assert await slices(dataset) == 1


async def test_many_times_at_several_servers_it_enters_once(tmp_path: Path) -> None:
    engine = engine_without_spark(tmp_path / "engine")
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine) as one, running(one.settings, engine=engine) as url:
        dataset = await add_root(one)
        servers = [one, replace(one, url=url)] * 4
        answers = await asyncio.gather(*(push(server, Idempotency_Key="one") for server in servers))
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == 1
        assert await slices(dataset) == 1


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["plan", "commit", "note"])
async def test_cut_off_at_any_step_and_repeated_it_enters_once(
    server: Hosted, monkeypatch: pytest.MonkeyPatch, step: str, moment: str
) -> None:
    dataset = await add_root(server)
    steps: dict[str, tuple[Any, str]] = {
        "plan": (IngestPlans, "add"),
        "commit": (ingesting, "run_commit"),
        "note": (Datasets, "log_move"),
    }
    owner, name = steps[step]
    with monkeypatch.context() as broken:
        deed = getattr(owner, name)

        async def cut_off(*arguments: object, **named: object) -> None:
            if moment == "after":
                await deed(*arguments, **named)
            raise EngineDied("as if the server were gone")

        broken.setattr(owner, name, cut_off)
        assert (await push(server, Idempotency_Key="one")).status == 503
    assert (await push(server, Idempotency_Key="one")).status == 200
    assert await slices(dataset) == 1


async def test_old_keys_are_forgotten(server: Hosted) -> None:
    dataset = await add_root(server)
    await push(server, Idempotency_Key="one")
    await server.catalog.ingest_plans.forget(older_than_s=-1)
    await push(server, Idempotency_Key="one")
    assert await slices(dataset) == 2
