"""Mirrors between real servers and folders: right after a push, on a schedule, back-off, nothing lost, nothing told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from catalog.amounts import Limits, Quota
from catalog.datasets import DatasetRecord
from catalog.mirrors import ON_CHANGE, Direction, NewMirror
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import Conflict
from opendatafabric.layout import data_key
from repo_server.background.mirror import FIRST_WAIT_S, LEASE_S, POLL_HEAD_S, MirrorRunner
from repo_server.background.mirror_target import MirrorPlace
from repo_server.config import MetricsAccess, Tenancy
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import open_dataset
from sync.mirror import MirrorTools
from sync.push import push_dataset
from sync.remote import parse_remote
from tests.catalog.conftest import Clock
from tests.repo_server.hosted import LARGE, Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder, dataset_id

pytestmark = pytest.mark.slow

ANY = Limits()


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path / "here", Tenancy.MULTI, run_mirrors=False) as server:
        yield server


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path / "there", Tenancy.MULTI, run_mirrors=False) as server:
        yield server


@pytest.fixture
async def runner(here: Hosted) -> MirrorRunner:
    return runner_of(here)


def runner_of(server: Hosted, clock: Clock | None = None, limits: Limits = ANY, **tools: Any) -> MirrorRunner:
    now = clock or server.catalog.mirrors._now
    place = MirrorPlace(server.repository, server.catalog, server.accounts["root"].id, now, limits)
    return MirrorRunner(place, MirrorTools(server.session, server.catalog.ipfs, **tools))


async def stored(builder: ChainBuilder) -> Dataset:
    """What ``builder`` made, as a dataset in memory."""
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    await dataset.writable_objects().put_many({data_key(name): data for name, data in builder.slices.items()})
    await dataset.append(builder.blocks, expected_head=None)
    return dataset


async def push_over_the_wire(server: Hosted, dataset: Dataset) -> None:
    """A push by a client, as alice/weather."""
    async with aiohttp.ClientSession() as session:
        remote = parse_remote(f"odf+{server.url}/alice/weather")
        await push_dataset(session, dataset, remote, token=server.tokens["alice"])


async def mirrored(server: Hosted, builder: ChainBuilder) -> dict[str, Any]:
    """How the mirror of alice/weather is, once it came to the head."""
    async with asyncio.timeout(30):
        while True:
            (mirror,) = orjson.loads((await server.ask("GET", "/system/mirrors", who="root")).body)
            state: dict[str, Any] = mirror["states"].get("alice/weather", {})
            if state.get("head") == str(builder.head) and mirror["lastSuccessAt"] is not None:
                return state


async def add_push(server: Hosted, target: str, pattern: str = "%", token: str | None = None) -> int:
    return await server.catalog.mirrors.add(NewMirror(Direction.PUSH, target, pattern, ON_CHANGE, token))


async def test_datasets_are_pushed_to_another_repository(here: Hosted, there: Hosted, runner: MirrorRunner) -> None:
    for number, name in enumerate(("one", "two", "three")):
        await here.add(name, a_chain(number))
    target = f"odf+{there.url}/bob/"
    mirror_id = await add_push(here, target, "t%", there.tokens["bob"])
    assert await runner.run_due()
    assert not await runner.run_due()
    assert [str(entry.alias) async for entry in there.repository.iterate()] == ["bob/three", "bob/two"]
    states = await here.catalog.mirrors.datasets(mirror_id)
    heads = {name: state.head for name, state in states.items()}
    assert heads == {"alice/two": str(a_chain(1).head), "alice/three": str(a_chain(2).head)}
    entries = await here.catalog.audit.list()
    assert {(each.action, each.subject, each.details["new_head"]) for each in entries} == {
        ("mirror push", alias, head) for alias, head in heads.items()
    }


async def test_visibility_goes_along(here: Hosted, there: Hosted, runner: MirrorRunner) -> None:
    await here.add("open", a_chain())
    mirror_id = await add_push(here, f"odf+{there.url}/bob/", token=there.tokens["bob"])
    assert await runner.run_now(mirror_id) is None
    assert (await there.ask("GET", "/bob/open/refs/head")).status == 200


async def test_a_folder_is_pushed_to_and_pulled_from(here: Hosted, there: Hosted, tmp_path: Path) -> None:
    await here.add("weather", a_chain())
    folder = f"file://{tmp_path}/mirror/"
    assert await runner_of(here).run_now(await add_push(here, folder)) is None
    pull = NewMirror(Direction.PULL, folder, "weather", "* * * * *")
    assert await runner_of(there).run_now(await there.catalog.mirrors.add(pull)) is None
    (entry,) = [entry async for entry in there.repository.iterate()]
    assert await entry.dataset.head() == a_chain().head
    record = await there.catalog.datasets.find(entry.id)
    assert record is not None
    assert record.owner_id == there.accounts["root"].id
    moves = await there.catalog.datasets.moves(entry.id)
    assert [(each.account_id, each.expected_head, each.new_head) for each in moves] == [
        (None, None, str(a_chain().head))
    ]


@pytest.mark.parametrize("kept_in", ["folder", "server"])
@pytest.mark.parametrize("quota", [Quota(bytes=len(LARGE)), Quota(objects=1), Quota(datasets=1)])
async def test_what_has_no_room_is_not_pulled(
    here: Hosted, there: Hosted, tmp_path: Path, quota: Quota, kept_in: str
) -> None:
    await here.add("weather", a_chain())
    folder = f"file://{tmp_path}/mirror/"
    assert await runner_of(here).run_now(await add_push(here, folder)) is None
    root = there.accounts["root"]
    taken = await there.repository.create(DatasetAlias.from_text("root/first"), dataset_id(9))
    await there.catalog.datasets.put(DatasetRecord(taken.id, taken.alias, root.id, Visibility.PRIVATE))
    source = folder if kept_in == "folder" else f"odf+{here.url}/alice/"
    mirror_id = await there.catalog.mirrors.add(NewMirror(Direction.PULL, source, "weather", "* * * * *"))
    error = await runner_of(there, limits=Limits(account=quota)).run_now(mirror_id)
    assert error is not None
    assert "quota" in error
    assert [entry async for entry in there.repository.iterate()] == []
    assert await runner_of(there).run_now(mirror_id) is None
    (entry,) = [entry async for entry in there.repository.iterate()]
    assert await entry.dataset.head() == a_chain().head


async def test_a_server_is_pulled_from_by_either_protocol_and_only_what_is_new(here: Hosted, there: Hosted) -> None:
    builder = a_chain()
    entry = await here.add("weather", builder)
    for scheme in ("odf+http", "http"):
        target = here.url.replace("http", scheme, 1) + "/alice/"
        pull = NewMirror(Direction.PULL, target, "weather", "* * * * *")
        mirror_id = await there.catalog.mirrors.add(pull)
        assert await runner_of(there).run_now(mirror_id) is None
        old_head = builder.head
        await entry.dataset.append([builder.info(scheme)], expected_head=old_head)
        assert await runner_of(there).run_now(mirror_id) is None
        assert (await there.catalog.mirrors.datasets(mirror_id))["weather"].head == str(builder.head)


async def test_a_pull_that_follows_asks_for_the_head_alone_until_it_moves(here: Hosted, there: Hosted) -> None:
    builder = a_chain()
    entry = await here.add("weather", builder)
    pull = NewMirror(Direction.PULL, f"odf+{here.url}/alice/", "weather", ON_CHANGE)
    mirror_id = await there.catalog.mirrors.add(pull)

    async def conversations_of_a_run() -> int:
        before = await conversations(here)
        assert await runner_of(there).run_now(mirror_id) is None
        return await conversations(here) - before

    assert [await conversations_of_a_run() for _ in range(3)] == [1, 0, 0]
    await entry.dataset.append([builder.info("newer")], expected_head=await entry.dataset.head())
    assert [await conversations_of_a_run() for _ in range(2)] == [1, 0]
    (mirror,) = await there.catalog.mirrors.list()
    assert mirror.last_run_at is not None
    assert mirror.next_run_at - mirror.last_run_at <= POLL_HEAD_S + 1


async def conversations(server: Hosted) -> int:
    """How many were begun with that server."""
    text = (await server.ask("GET", "/metrics", who="root")).text
    found = re.search(r'odf_requests_total\{method="GET",status="101"\} (\d+)', text)
    return 0 if found is None else int(found[1])


async def test_a_target_that_is_down_is_tried_later_each_time_and_loses_nothing(here: Hosted, tmp_path: Path) -> None:
    await here.add("weather", a_chain())
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    mirror_id = await add_push(here, f"file://{blocked}/")
    waits = []
    for failures in range(1, 4):
        error = await runner_of(here).run_now(mirror_id)
        (mirror,) = await here.catalog.mirrors.list()
        assert (mirror.last_error, mirror.failures) == (error, failures)
        assert error is not None
        assert mirror.last_run_at is not None
        waits.append(mirror.next_run_at - mirror.last_run_at)
    assert all(FIRST_WAIT_S * 2**n * 0.4 <= wait <= FIRST_WAIT_S * 2**n for n, wait in enumerate(waits))
    assert (await here.catalog.mirrors.datasets(mirror_id))["alice/weather"].behind_since is not None
    blocked.unlink()
    assert await runner_of(here).run_now(mirror_id) is None
    (mirror,) = await here.catalog.mirrors.list()
    assert (mirror.last_error, mirror.failures) == (None, 0)
    assert (await here.catalog.mirrors.datasets(mirror_id))["alice/weather"].behind_since is None
    assert await open_dataset(f"{blocked}/weather").head() == a_chain().head


async def test_a_dataset_that_fails_does_not_keep_the_others(here: Hosted, tmp_path: Path) -> None:
    for number, name in enumerate(("bad", "good")):
        await here.add(name, a_chain(number))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "bad").write_text("a file where a folder should be")
    error = await runner_of(here).run_now(await add_push(here, f"file://{tmp_path}/mirror/"))
    assert error is not None
    assert "bad" in error
    assert await open_dataset(str(tmp_path / "mirror" / "good")).head() == a_chain(1).head


async def test_two_servers_over_one_catalog_run_a_mirror_once(here: Hosted, tmp_path: Path) -> None:
    await here.add("weather", a_chain())
    mirror_id = await add_push(here, f"file://{tmp_path}/mirror/")
    runs = await asyncio.gather(*(runner_of(here).run_due() for _ in range(4)))
    assert runs.count(True) == 1
    await here.catalog.mirrors.claim(mirror_id, "another", lease_s=LEASE_S)
    with pytest.raises(Conflict):
        await runner_of(here).run_now(mirror_id)


async def test_a_run_that_is_stopped_gives_its_mirror_back(here: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.add("weather", a_chain())
    started = asyncio.Event()

    async def hang(*_: object) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("repo_server.background.mirror.push_to_mirror", hang)
    mirror_id = await add_push(here, "file:///nowhere/")
    running = asyncio.create_task(runner_of(here).run_now(mirror_id))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await here.catalog.mirrors.claim_due("another", lease_s=LEASE_S) is not None


async def test_a_push_to_the_server_goes_on_to_the_mirror_by_itself(tmp_path: Path) -> None:
    builder = a_chain()
    async with hosted(tmp_path / "here", Tenancy.MULTI) as here:
        await add_push(here, f"file://{tmp_path}/mirror/")
        await push_over_the_wire(here, await stored(builder))
        await mirrored(here, builder)
    assert await open_dataset(str(tmp_path / "mirror" / "weather")).head() == builder.head


async def test_administrators_see_how_mirrors_are_and_nobody_sees_tokens(here: Hosted) -> None:
    await here.add("weather", a_chain())
    await add_push(here, "odf+http://127.0.0.1:9/bob/", token="s3cr3t-t0ken")
    assert (await here.ask("GET", "/system/mirrors")).status == 401
    assert (await here.ask("GET", "/system/mirrors", who="alice")).status == 403
    answer = await here.ask("GET", "/system/mirrors", who="root")
    assert answer.status == 200
    assert '"direction":"push"' in answer.text
    assert "s3cr3t" not in answer.text


async def test_metrics_are_for_administrators_unless_said_otherwise(here: Hosted, tmp_path: Path) -> None:
    await add_push(here, "odf+http://127.0.0.1:9/bob/")
    assert (await here.ask("GET", "/metrics")).status == 401
    assert (await here.ask("GET", "/metrics", who="alice")).status == 403
    text = (await here.ask("GET", "/metrics", who="root")).text
    assert 'odf_mirror_failures{direction="push",mirror="1"} 0.0' in text
    assert 'odf_requests_total{method="GET",status="401"}' in text
    async with hosted(tmp_path / "open", Tenancy.SINGLE, metrics_access=MetricsAccess.PUBLIC) as server:
        answer = await server.ask("GET", "/metrics")
        assert (answer.status, answer.headers["Content-Type"].split(";")[0]) == (200, "text/plain")
