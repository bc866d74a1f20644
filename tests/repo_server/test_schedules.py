"""``/schedule`` of a dataset: read by readers, set by writers; for those who are no administrators less is polled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.catalog import Catalog
from catalog.jobs import POLL, TRANSFORM, VERIFY, JobId
from catalog.mirrors import Direction, NewMirror
from catalog.roles import Role
from catalog.run_times import Schedule
from catalog.schedules import Scheduled
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.errors import EngineUnavailable
from opendatafabric.metadata.events import DatasetKind, SetPollingSource, SetTransform
from opendatafabric.metadata.sources import FetchStepUrl, MergeStrategyAppend, ReadStepCsv
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from repo_server.config import Tenancy
from tests.pipeline.local_engine import LocalEngine
from tests.repo_server.background.test_mirror import push_over_the_wire, runner_of, stored
from tests.repo_server.hosted import Answer, Hosted, a_chain, code_of, hosted
from tests.storage.chains import ChainBuilder, dataset_id

pytestmark = pytest.mark.slow

YEARLY = {"cron": "0 0 1 1 *"}
ON_CHANGE = {"onChange": True}
DERIVED = JobId(TRANSFORM, dataset_id(4))
POLLED, SECRET, PUSHED = (JobId(POLL, dataset_id(number)) for number in (1, 2, 3))


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public and a private dataset of alice's that poll, and one that does not."""
    async with hosted(tmp_path, tenancy, run_worker=False, engine=LocalEngine(tmp_path / "engine")) as running:
        await running.add("polled", polling(POLLED))
        await running.add("secret", polling(SECRET), Visibility.PRIVATE)
        await running.add("pushed", a_chain(3))
        yield running


def polling(job_id: JobId) -> ChainBuilder:
    chain = ChainBuilder(job_id.dataset_id)
    step = FetchStepUrl("http://127.0.0.1:9/weather.csv")
    chain.add(SetPollingSource(step, None, ReadStepCsv(), None, MergeStrategyAppend()))
    return chain


def derived(*inputs: JobId, query: str = "select 1") -> ChainBuilder:
    """Computed from the datasets of those jobs."""
    chain = ChainBuilder(DERIVED.dataset_id, DatasetKind.DERIVATIVE)
    transform = TransformSql("datafusion", queries=(SqlQueryStep(query=query),))
    chain.add(SetTransform(tuple(TransformInput(each.dataset_id, str(each)[-9:]) for each in inputs), transform))
    return chain


async def put(
    server: Hosted, body: Any, *, name: str = "polled", who: str | None = "alice", job: str | None = None
) -> Answer:
    headers = {"Content-Type": "application/json"}
    path = f"{server.path(name)}/schedule{'' if job is None else f'?job={job}'}"
    return await server.ask("PUT", path, who=who, data=orjson.dumps(body), headers=headers)


async def get(server: Hosted, *, name: str = "polled", who: str | None = "alice") -> Answer:
    return await server.ask("GET", f"{server.path(name)}/schedule", who=who)


async def scheduled(catalog: Catalog, job_id: JobId = POLLED) -> Scheduled:
    found = await catalog.schedules.find(job_id)
    assert found is not None
    return found


async def test_a_schedule_is_set_read_and_removed(server: Hosted) -> None:
    given = {**YEARLY, "timezone": "Europe/Berlin", "jitterS": 60}
    answer = await put(server, given)
    assert answer.status == 200
    told = orjson.loads(answer.body)
    assert {name: told[name] for name in given} == given
    assert (told["paused"], told["running"], told["lastRunAt"], told["failures"]) == (False, False, None, 0)
    assert told["nextRunAt"].endswith("Z")
    assert orjson.loads((await get(server, who=None)).body) == told
    removed = await server.ask("DELETE", f"{server.path('polled')}/schedule", who="alice")
    assert (removed.status, (await get(server)).status) == (204, 404)
    assert (await server.ask("DELETE", f"{server.path('polled')}/schedule", who="alice")).status == 404


async def test_a_paused_schedule_has_no_next_run(server: Hosted) -> None:
    told = orjson.loads((await put(server, {**YEARLY, "paused": True})).body)
    assert (told["paused"], told["nextRunAt"]) == (True, None)
    assert orjson.loads((await put(server, YEARLY)).body)["paused"] is False


async def test_what_a_writer_sets_is_foreign_and_what_an_administrator_sets_is_not(server: Hosted) -> None:
    await put(server, YEARLY)
    assert (await scheduled(server.catalog)).foreign
    await put(server, YEARLY, who="root")
    assert not (await scheduled(server.catalog)).foreign


async def test_writers_alone_set_it(server: Hosted) -> None:
    expected = {None: 403, "bob": 403, "alice": 200, "root": 200}
    assert {who: (await put(server, YEARLY, who=who)).status for who in expected} == expected


async def test_a_token_for_reading_sets_nothing(server: Hosted) -> None:
    token = await server.token("alice", Scope.DATASETS_READ)
    assert (await put(server, YEARLY, who=token)).status == 403


async def test_a_private_dataset_is_not_admitted_to_exist(server: Hosted) -> None:
    await put(server, YEARLY, name="secret")
    for who in (None, "bob"):
        answers = [await get(server, name="secret", who=who), await put(server, YEARLY, name="secret", who=who)]
        assert [code_of(answer) for answer in answers] == [(404, "not-found")] * 2


async def test_why_a_run_failed_is_for_those_who_may_write_and_without_secrets(server: Hosted) -> None:
    await put(server, YEARLY)
    await server.catalog.jobs.request(POLLED)
    job = await server.catalog.jobs.claim_due([POLL], "worker", lease_s=60)
    assert job is not None
    await server.catalog.jobs.finish(job, error="http://me:s3cr3t@source/ did not answer")
    ours, theirs = orjson.loads((await get(server)).body), orjson.loads((await get(server, who=None)).body)
    assert (ours["lastError"], ours["failures"]) == ("http://[redacted]@source/ did not answer", 1)
    assert (theirs["lastError"], theirs["failures"]) == ("the last run failed", 1)


async def test_what_is_no_schedule_is_refused(server: Hosted) -> None:
    bad: list[dict[str, Any]] = [{}, {"cron": "often"}, {"cron": 5}, {"cron": "0 0 31 2 *"}]
    bad += [
        {"onChange": False},
        {"onChange": 1},
        ON_CHANGE,
        {**YEARLY, "timezone": "Mars"},
        {**YEARLY, "more": 1},
        {**YEARLY, "paused": 1},
    ]
    bad += [{**YEARLY, "jitterS": jitter} for jitter in (-1, 1e9, True)]
    assert [(await put(server, body)).status for body in bad] == [400] * len(bad)
    assert (await get(server)).status == 404


async def test_a_dataset_without_a_source_is_not_polled(server: Hosted) -> None:
    assert (await put(server, YEARLY, name="pushed")).status == 501
    assert await server.catalog.schedules.list(POLL) == []


async def test_a_derivative_is_computed_on_a_schedule_of_its_own_or_when_something_changed(server: Hosted) -> None:
    await server.add("derived", derived(POLLED))
    told = orjson.loads((await put(server, ON_CHANGE, name="derived")).body)
    assert (told["onChange"], told["cron"]) == (True, None)
    found = await scheduled(server.catalog, DERIVED)
    assert (found.schedule.on_change, found.foreign) == (True, True)
    assert orjson.loads((await get(server, name="derived")).body)["onChange"] is True
    both = {**YEARLY, **ON_CHANGE}
    assert orjson.loads((await put(server, both, name="derived", who="root")).body)["nextRunAt"] is not None
    assert not (await scheduled(server.catalog, DERIVED)).foreign


async def test_its_verification_has_a_schedule_of_its_own(server: Hosted) -> None:
    for name, job_id in (("pushed", PUSHED), ("derived", DERIVED)):
        if name == "derived":
            await server.add("derived", derived(POLLED))
        assert (await put(server, ON_CHANGE, name=name, job=VERIFY)).status == 200
        assert (await scheduled(server.catalog, JobId(VERIFY, job_id.dataset_id))).schedule.on_change
    path = f"{server.path('derived')}/schedule"
    assert (await server.ask("GET", path, who="alice")).status == 404
    assert (await server.ask("DELETE", f"{path}?job=verify", who="alice")).status == 204
    assert (await server.ask("GET", f"{path}?job=nonsense", who="alice")).status == 400


async def test_a_derivative_is_computed_from_what_its_writer_may_read(server: Hosted) -> None:
    await server.add("derived", derived(POLLED, SECRET, JobId(POLL, dataset_id(9))))
    missing = await put(server, YEARLY, name="derived")
    assert (missing.status, str(dataset_id(9)) in missing.text) == (404, True)


async def test_an_input_that_is_not_for_the_caller_is_as_one_that_is_not_here(server: Hosted) -> None:
    await server.add("derived", derived(SECRET))
    await server.catalog.roles.grant(DERIVED.dataset_id, server.accounts["bob"], Role.MAINTAINER)
    for job in (None, VERIFY):
        assert (await put(server, YEARLY, name="derived", who="bob", job=job)).status == 404
        assert (await put(server, YEARLY, name="derived", job=job)).status == 200
    await server.catalog.roles.grant(SECRET.dataset_id, server.accounts["bob"], Role.READER)
    assert (await put(server, YEARLY, name="derived", who="bob")).status == 200
    assert (await scheduled(server.catalog, DERIVED)).foreign


async def test_a_query_that_is_not_allowed_is_told_when_it_is_to_be_computed_here(server: Hosted) -> None:
    await server.add("derived", derived(POLLED, query="select event_time,\n random() as r from polled"))
    refused = await put(server, YEARLY, name="derived")
    told = orjson.loads(refused.body)
    assert (refused.status, told["code"]) == (400, "invalid-query")
    assert "'random'" in told["message"]
    assert "line 2, column 2" in told["message"]
    assert "hint" in told
    assert (await get(server, name="derived")).status == 404
    assert (await put(server, YEARLY, name="derived", job=VERIFY)).status == 200


async def test_without_an_engine_it_is_not_looked_at(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, run_worker=False, engine=Away(tmp_path / "engine")) as server:
        await server.add("polled", polling(POLLED))
        await server.add("derived", derived(POLLED, query="select random()"))
        assert (await put(server, YEARLY, name="derived")).status == 200


class Away(LocalEngine):
    """An engine that is not to be had."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise EngineUnavailable("no Java")


async def test_a_derivative_without_a_transform_is_not_computed(server: Hosted) -> None:
    await server.add("derived", ChainBuilder(DERIVED.dataset_id, DatasetKind.DERIVATIVE))
    assert (await put(server, YEARLY, name="derived")).status == 501


@pytest.mark.slow
async def test_a_push_makes_what_follows_the_dataset_due(tmp_path: Path) -> None:
    chain, follower = a_chain(1), JobId(TRANSFORM, dataset_id(4))
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as server:
        await server.catalog.schedules.set(follower, Schedule(None, on_change=True))
        job = await server.catalog.jobs.claim_due([TRANSFORM], "worker", lease_s=60)
        assert job is not None
        await server.catalog.watches.set(follower, {chain.id: None})
        await server.catalog.jobs.finish(job)
        await push_over_the_wire(server, await stored(chain))
        assert (await scheduled(server.catalog, follower)).state.due_at is not None
        assert await server.catalog.watches.watched() == {chain.id: {str(chain.head)}}


@pytest.mark.slow
async def test_a_pull_by_a_mirror_makes_what_follows_the_dataset_due(tmp_path: Path) -> None:
    chain, follower = a_chain(1), JobId(VERIFY, dataset_id(1))
    there = hosted(tmp_path / "there", Tenancy.MULTI, run_mirrors=False)
    here = hosted(tmp_path / "here", Tenancy.MULTI, run_mirrors=False, run_worker=False)
    async with there as source, here as server:
        await source.add("weather", chain)
        await server.catalog.watches.set(follower, {chain.id: None})
        pull = NewMirror(Direction.PULL, f"{source.url}/alice/", "weather", "* * * * *")
        await server.catalog.schedules.set(follower, Schedule("0 0 1 1 *", on_change=True))
        assert await runner_of(server).run_now(await server.catalog.mirrors.add(pull)) is None
        assert await server.catalog.watches.watched() == {chain.id: {str(chain.head)}}
