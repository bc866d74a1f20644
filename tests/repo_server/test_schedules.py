"""``/schedule`` of a dataset: read by readers, set by writers; for those who are no administrators less is polled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.catalog import Catalog
from catalog.jobs import POLL, JobId
from catalog.schedules import Scheduled
from catalog.tokens import Scope
from catalog.visibility import Visibility
from opendatafabric.metadata.events import SetPollingSource
from opendatafabric.metadata.sources import FetchStepUrl, MergeStrategyAppend, ReadStepCsv
from repo_server.config import Tenancy
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder, dataset_id

YEARLY = {"cron": "0 0 1 1 *"}
POLLED, SECRET, PUSHED = (JobId(POLL, dataset_id(number)) for number in (1, 2, 3))


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public and a private dataset of alice's that poll, and one that does not."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("polled", polling(POLLED))
        await running.add("secret", polling(SECRET), Visibility.PRIVATE)
        await running.add("pushed", a_chain(3))
        yield running


def polling(job_id: JobId) -> ChainBuilder:
    chain = ChainBuilder(job_id.dataset_id)
    step = FetchStepUrl("http://127.0.0.1:9/weather.csv")
    chain.add(SetPollingSource(step, None, ReadStepCsv(), None, MergeStrategyAppend()))
    return chain


async def put(server: Hosted, body: Any, *, name: str = "polled", who: str | None = "alice") -> Answer:
    headers = {"Content-Type": "application/json"}
    path = f"{server.path(name)}/schedule"
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
    token = await server.token("alice", Scope.READ)
    assert (await put(server, YEARLY, who=token)).status == 403


async def test_a_private_dataset_is_not_admitted_to_exist(server: Hosted) -> None:
    await put(server, YEARLY, name="secret")
    for who in (None, "bob"):
        answers = [await get(server, name="secret", who=who), await put(server, YEARLY, name="secret", who=who)]
        assert [(answer.status, answer.body) for answer in answers] == [(404, b""), (404, b"")]


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
    bad += [{**YEARLY, "timezone": "Mars"}, {**YEARLY, "more": 1}, {**YEARLY, "paused": 1}]
    bad += [{**YEARLY, "jitterS": jitter} for jitter in (-1, 1e9, True)]
    assert [(await put(server, body)).status for body in bad] == [400] * len(bad)
    assert (await get(server)).status == 404


async def test_a_dataset_without_a_source_is_not_polled(server: Hosted) -> None:
    assert (await put(server, YEARLY, name="pushed")).status == 501
    assert await server.catalog.schedules.list(POLL) == []
