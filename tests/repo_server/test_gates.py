"""A dataset with a gate: what is pushed is staged, and the head once it was verified; the pusher is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from catalog.jobs import PROMOTE, ClaimedJob, JobId
from cli.gates import promote_job
from opendatafabric.block_ref import STAGING
from opendatafabric.multihash import Multihash
from repo_server.config import Tenancy
from storage.dataset import Dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import TransferOptions, TransferResult
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow


def chain(*texts: str) -> ChainBuilder:
    found = ChainBuilder(dataset_id(1))
    for text in texts:
        found.info(text)
    return found


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public dataset of alice's that has a gate, and no worker."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("open", chain("first"))
        assert (await ask(running, "PUT", {})).status == 200
        yield running


async def ask(server: Hosted, method: str, body: Any = None, *, who: str | None = "alice") -> Answer:
    headers = {"Content-Type": "application/json"} if body is not None else {}
    data = None if body is None else orjson.dumps(body)
    return await server.ask(method, f"{server.path('open')}/gate", who=who, data=data, headers=headers)


async def told(server: Hosted) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((await ask(server, "GET")).body)
    return found


async def push(server: Hosted, *texts: str, **options: Any) -> TransferResult:
    source: Dataset = memory_dataset()
    await fill(source, chain(*texts))
    target = parse_remote(f"odf+{server.url}{server.path('open')}")
    async with aiohttp.ClientSession() as session:
        options_ = TransferOptions(**options)
        return await push_dataset(session, source, target, token=server.tokens["alice"], options=options_)


async def refs(server: Hosted) -> tuple[Multihash | None, Multihash | None]:
    dataset = (await server.repository.find(dataset_id(1))).dataset
    return await dataset.head(), await dataset.head(STAGING)


async def claimed(server: Hosted) -> ClaimedJob | None:
    return await server.catalog.jobs.claim_due([PROMOTE], "worker", lease_s=600)


async def work(server: Hosted) -> dict[str, Any]:
    """What a worker does when it comes by."""
    job = await claimed(server)
    assert job is not None
    outcome = await promote_job(server.settings, server.repository, server.catalog).run(job.id.dataset_id)
    await server.catalog.jobs.finish(job, outcome=outcome)
    return outcome


async def test_what_is_pushed_is_staged_and_the_pusher_is_told(server: Hosted) -> None:
    result = await push(server, "first", "second")
    assert (result.staged, result.new_head) == (True, chain("first", "second").head)
    assert await refs(server) == (chain("first").head, chain("first", "second").head)
    state = await told(server)
    assert (state["on"], state["staged"], state["run"]["state"]) == (True, str(result.new_head), "waiting")
    assert (await server.ask("GET", f"{server.path('open')}/refs/head")).text == str(chain("first").head)


async def test_what_was_verified_becomes_the_head(server: Hosted) -> None:
    await push(server, "first", "second")
    assert (await work(server))["result"] == "promoted"
    assert await refs(server) == (chain("first", "second").head, None)
    state = await told(server)
    assert (state["staged"], state["run"]["outcome"]["result"]) == (None, "promoted")
    assert not (await push(server, "first", "second")).staged


async def test_the_last_of_several_pushes_is_what_is_staged(server: Hosted) -> None:
    await push(server, "first", "second")
    await push(server, "first", "second", "third")
    assert (await refs(server))[1] == chain("first", "second", "third").head
    await work(server)
    assert (await refs(server))[0] == chain("first", "second", "third").head


async def test_a_push_while_one_is_verified_is_verified_next(server: Hosted) -> None:
    await push(server, "first", "second")
    job = await claimed(server)
    assert job is not None
    await push(server, "first", "second", "third")
    await server.catalog.jobs.finish(job, outcome={"result": "promoted"})
    state = await server.catalog.jobs.state(JobId(PROMOTE, dataset_id(1)))
    assert state is not None
    assert state.due_at is not None


async def test_what_replaces_the_head_by_force_is_turned_away(server: Hosted) -> None:
    result = await push(server, "other", "blocks", force=True)
    assert result.staged
    outcome = await work(server)
    assert (outcome["result"], await refs(server)) == ("rejected", (chain("first").head, None))
    assert "does not continue" in (await told(server))["run"]["outcome"]["finding"]


async def test_without_a_gate_a_push_counts_at_once(server: Hosted) -> None:
    assert (await ask(server, "DELETE")).status == 204
    assert not (await push(server, "first", "second")).staged
    assert await refs(server) == (chain("first", "second").head, None)
    assert await claimed(server) is None


async def test_with_the_gate_goes_what_is_staged(server: Hosted) -> None:
    await push(server, "first", "second")
    await ask(server, "DELETE")
    assert await refs(server) == (chain("first").head, None)
    assert (await work(server))["result"] == "nothing-staged"


async def test_what_is_staged_may_be_verified_once_more(server: Hosted) -> None:
    assert (await ask(server, "POST")).status == 404
    await push(server, "first", "second")
    job = await claimed(server)
    assert job is not None
    await server.catalog.jobs.finish(job, outcome={"result": "held"})
    assert (await ask(server, "POST")).status == 202
    assert await claimed(server) is not None


async def test_writers_alone_see_and_set_the_gate_and_what_is_staged(server: Hosted) -> None:
    await push(server, "first", "second")
    staging = f"{server.path('open')}/refs/staging"
    for who, allowed in ((None, False), ("bob", False), ("alice", True), ("root", True)):
        statuses = [(await ask(server, method, {}, who=who)).status for method in ("GET", "PUT")]
        statuses.append((await server.ask("GET", staging, who=who)).status)
        assert statuses == ([200] * 3 if allowed else [403] * 3)
    assert [(await ask(server, "DELETE", who=who)).status for who in (None, "bob", "alice")] == [403, 403, 204]


async def test_what_is_no_gate_is_refused(server: Hosted) -> None:
    bodies: list[Any] = [{"replay": 1}, {"more": True}, {"replay": None}]
    assert [(await ask(server, "PUT", body)).status for body in bodies] == [400] * 3
    assert orjson.loads((await ask(server, "PUT", {"replay": True})).body)["replay"] is True
