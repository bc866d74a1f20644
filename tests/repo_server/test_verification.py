"""``/verify`` of a dataset: a run is asked for, told of, and followed as it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from catalog.jobs import VERIFY, ClaimedJob, JobId
from catalog.run_times import Schedule
from catalog.scopes import Scope
from catalog.visibility import Visibility
from repo_server import event_stream
from repo_server.config import Tenancy
from tests.repo_server.hosted import Answer, Hosted, a_chain, code_of, hosted
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow

JOB = JobId(VERIFY, dataset_id(1))
OUTCOME = {"verdict": "valid", "head": "f1620", "findings": 0}


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LOOK_EVERY_S", 0.01)


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public and a private dataset of alice's, and no worker."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("open", a_chain(1))
        await running.add("secret", a_chain(2), Visibility.PRIVATE)
        yield running


async def post(server: Hosted, *, name: str = "open", who: str | None = "alice") -> Answer:
    return await server.ask("POST", f"{server.path(name)}/verify", who=who)


async def get(server: Hosted, run: str = "", *, name: str = "open", who: str | None = "alice") -> Answer:
    return await server.ask("GET", f"{server.path(name)}/verify{run}", who=who)


async def told(server: Hosted, run: str = "", who: str | None = "alice") -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((await get(server, run, who=who)).body)
    return found


async def begun(server: Hosted) -> ClaimedJob:
    job = await server.catalog.jobs.claim_due([VERIFY], "worker", lease_s=600)
    assert job is not None
    return job


async def test_a_run_is_asked_for_and_its_address_told(server: Hosted) -> None:
    assert (await get(server)).status == 404
    answer = await post(server)
    assert answer.status == 202
    assert answer.headers["Location"] == f"{server.url}{server.path('open')}/verify/1"
    assert orjson.loads(answer.body) == {"run": 1, "state": "waiting"}
    assert await told(server, "/1") == await told(server) == {"run": 1, "state": "waiting"}


async def test_a_run_is_followed_to_its_end(server: Hosted) -> None:
    await post(server)
    job = await begun(server)
    await server.catalog.jobs.tell_progress(job, {"blocks": {"done": 1, "total": 3}})
    running = await told(server, "/1")
    assert (running["state"], running["progress"]) == ("running", {"blocks": {"done": 1, "total": 3}})
    await server.catalog.jobs.finish(job, outcome=OUTCOME)
    ended = await told(server, "/1")
    assert (ended["state"], ended["outcome"]) == ("ended", OUTCOME)
    assert await told(server) == ended


async def test_whoever_asks_again_gets_the_run_that_waits_or_goes_on(server: Hosted) -> None:
    answers = [await post(server) for _ in range(3)]
    job = await begun(server)
    answers.append(await post(server))
    assert {answer.headers["Location"][-2:] for answer in answers} == {"/1"}
    await server.catalog.jobs.finish(job, outcome=OUTCOME)
    assert (await post(server)).headers["Location"].endswith("/2")
    assert (await told(server, "/1"))["state"] == "ended"
    assert await told(server) == {"run": 2, "state": "waiting"}


async def test_why_a_run_failed_is_for_those_who_may_write_and_without_secrets(server: Hosted) -> None:
    await post(server)
    await server.catalog.jobs.finish(await begun(server), error="http://me:s3cr3t@there/ did not answer")
    assert (await told(server))["error"] == "http://[redacted]@there/ did not answer"
    theirs = await told(server, who=None)
    assert (theirs["state"], theirs["error"]) == ("failed", "the run failed")


async def test_other_runs_are_not_known(server: Hosted) -> None:
    await post(server)
    for run in ("/0", "/2", "/3", "/-1", "/x", "/1٣", "/99999999999999999999"):
        assert (await get(server, run)).status == 404
        assert (await get(server, f"{run}/events")).status == 404


async def test_a_run_that_is_only_due_later_is_not_waiting(server: Hosted) -> None:
    await server.catalog.schedules.set(JOB, Schedule("0 0 1 1 *"))
    assert [(await get(server, run)).status for run in ("", "/1")] == [404, 404]


async def test_writers_alone_have_a_dataset_verified(server: Hosted) -> None:
    expected = {None: 403, "bob": 403, "alice": 202, "root": 202}
    assert {who: (await post(server, who=who)).status for who in expected} == expected
    token = await server.token("alice", Scope.DATASETS_READ)
    assert ((await post(server, who=token)).status, (await get(server, who=token)).status) == (403, 200)


async def test_a_run_reads_what_those_may_read_who_asked_for_it(server: Hosted) -> None:
    await post(server)
    job = await begun(server)
    assert (job.foreign, job.account_id) == (True, server.accounts["alice"].id)
    await server.catalog.jobs.finish(job, outcome=OUTCOME)
    await post(server, who="root")
    assert not (await begun(server)).foreign


async def test_a_private_dataset_is_not_admitted_to_exist(server: Hosted) -> None:
    await post(server, name="secret")
    for who in (None, "bob"):
        answers = [await post(server, name="secret", who=who)]
        answers += [await get(server, run, name="secret", who=who) for run in ("", "/1", "/1/events")]
        assert [code_of(answer) for answer in answers] == [(404, "not-found")] * 4


@asynccontextmanager
async def events(server: Hosted, *, last: str | None = None) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {} if last is None else {"Last-Event-ID": last}
    url = f"{server.url}{server.path('open')}/verify/1/events"
    async with server.session.get(url, headers=headers) as response:
        yield response


async def next_event(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The next one that says something."""
    fields: dict[str, str] = {}
    async with asyncio.timeout(60):
        while "data" not in fields:
            fields = {}
            while (line := (await response.content.readline()).decode()) not in {"\n", ""}:
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = value
    return fields


async def test_states_are_sent_as_they_come(server: Hosted) -> None:
    await post(server)
    async with events(server) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
        assert orjson.loads((await next_event(response))["data"]) == {"run": 1, "state": "waiting"}
        job = await begun(server)
        assert orjson.loads((await next_event(response))["data"])["state"] == "running"
        await server.catalog.jobs.tell_progress(job, {"blocks": {"done": 2, "total": 3}})
        assert orjson.loads((await next_event(response))["data"])["progress"] == {"blocks": {"done": 2, "total": 3}}
        await server.catalog.jobs.finish(job, outcome=OUTCOME)
        last = await next_event(response)
        assert (last["event"], orjson.loads(last["data"])["outcome"]) == ("state", OUTCOME)
        assert await response.content.read() == b""
    async with events(server, last=last["id"]) as response:
        assert (response.status, await response.read()) == (204, b"")
    async with events(server) as response:
        assert (await next_event(response))["id"] == last["id"]


async def test_a_client_that_comes_back_is_sent_what_it_does_not_know(server: Hosted) -> None:
    await post(server)
    async with events(server) as response:
        known = (await next_event(response))["id"]
    async with events(server, last=known) as response:
        job = await begun(server)
        assert orjson.loads((await next_event(response))["data"])["state"] == "running"
    await server.catalog.jobs.finish(job, outcome=OUTCOME)
    async with events(server, last=known) as response:
        assert orjson.loads((await next_event(response))["data"])["state"] == "ended"


async def test_a_silent_stream_shows_that_it_is_alive(server: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "ALIVE_EVERY_S", 0.0)
    await post(server)
    async with events(server) as response:
        await next_event(response)
        assert await response.content.readline() == b": waiting\n"


async def test_a_run_that_others_followed_ends_the_stream(server: Hosted) -> None:
    await post(server)
    async with events(server) as response:
        await next_event(response)
        for _ in range(2):
            await server.catalog.jobs.ask(JOB)
            await server.catalog.jobs.finish(await begun(server), outcome=OUTCOME)
        async with asyncio.timeout(60):
            await response.content.read()
    assert (await get(server, "/1")).status == 404
