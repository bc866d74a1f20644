"""Verdicts on a public derivative of private inputs: values that follow from those are for who may read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from catalog.jobs import VERIFY, JobId
from catalog.roles import Role
from catalog.run_times import Schedule
from catalog.visibility import Visibility
from opendatafabric.layout import report_key
from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.storage.chains import dataset_id
from tests.verify.reports import INPUT_BLOCK, SOUND, WRONG, record
from tests.verify.test_redaction import MISMATCH, SECRET
from verify.recording import Recorded
from verify.redaction import LEFT_OUT
from verify.report import Check, Finding, Report
from verify.report_making import report_of
from verify.report_record import InputRecord, ReportRecord, parse_report
from verify.verify_job import outcome_of

pytestmark = pytest.mark.slow

PAGE = "text/html"
OTHERS = ("bob", None)


def report_on(*inputs: int, wrong: bool = True) -> ReportRecord:
    """Of a derivative of datasets with those numbers."""
    made = record(MISMATCH, steps=[WRONG, SOUND]) if wrong else record(steps=[SOUND])
    read = tuple(InputRecord(dataset_id=str(dataset_id(each)), block_hash=str(INPUT_BLOCK)) for each in inputs)
    return made.model_copy(update={"inputs": read, "dataset_id": str(dataset_id(1))})


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With public datasets 1 and 3 and a private one, 2, all of alice's."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("secret", a_chain(2), Visibility.PRIVATE)
        await running.add("other", a_chain(3))
        yield running


async def kept(server: Hosted, report: ReportRecord) -> str:
    """Its path, beside the public dataset ``open``."""
    entry = await server.add("open", a_chain(1))
    await entry.dataset.writable_objects().put(report_key(report.hash()), report.to_bytes())
    return f"{server.path('open')}/reports/{report.hash()}"


async def get(server: Hosted, path: str, who: str | None, **headers: str) -> Answer:
    return await server.ask("GET", path, who=who, headers=headers)


async def test_readers_of_the_derivative_alone_get_a_redacted_report(server: Hosted) -> None:
    report = report_on(2, 3)
    path = await kept(server, report)
    for who in OTHERS:
        answer = await get(server, path, who)
        assert (answer.status, SECRET in answer.text) == (200, False)
        assert parse_report(answer.body).redacted_from == str(report.hash())
        assert "immutable" not in answer.headers["Cache-Control"]
        assert answer.headers["ETag"] == f'"{physical_hash(answer.body)}"'


async def test_pages_leave_out_the_same(server: Hosted) -> None:
    path = await kept(server, report_on(2))
    for who in OTHERS:
        page = (await get(server, path, who, Accept=PAGE)).text
        assert (SECRET in page, LEFT_OUT in page) == (False, True)
    assert SECRET in (await get(server, path, "alice", Accept=PAGE)).text


async def test_writers_get_what_is_kept_and_no_cache_shares_it(server: Hosted) -> None:
    report = report_on(2)
    path = await kept(server, report)
    for who in ("alice", "root"):
        answer = await get(server, path, who)
        assert answer.body == report.to_bytes()
        assert answer.headers["Cache-Control"].startswith("private")
        assert "Authorization" in answer.headers["Vary"]


async def test_who_knows_the_hash_of_the_whole_is_not_told_that_he_has_it(server: Hosted) -> None:
    report = report_on(2)
    path = await kept(server, report)
    tag = f'"{report.hash()}"'
    assert (await get(server, path, None, **{"If-None-Match": tag})).status == 200
    assert (await get(server, path, "alice", **{"If-None-Match": tag})).status == 304
    redacted_tag = (await get(server, path, None)).headers["ETag"]
    assert (await get(server, path, None, **{"If-None-Match": redacted_tag})).status == 304


async def test_of_public_inputs_everybody_sees_all(server: Hosted) -> None:
    report = report_on(3)
    assert (await get(server, await kept(server, report), None)).body == report.to_bytes()


@pytest.mark.parametrize("inputs", [(3, 9), ()], ids=["gone", "unknown"])
async def test_inputs_that_are_not_here_count_as_not_readable(server: Hosted, inputs: tuple[int, ...]) -> None:
    path = await kept(server, report_on(*inputs))
    assert SECRET not in (await get(server, path, None)).text


async def test_a_reader_of_all_inputs_sees_all(multi: Hosted) -> None:
    await multi.add("secret", a_chain(2), Visibility.PRIVATE)
    report = report_on(2)
    path = await kept(multi, report)
    await multi.catalog.roles.grant(dataset_id(2), multi.accounts["bob"], Role.READER)
    assert (await get(multi, path, "bob")).body == report.to_bytes()
    assert SECRET not in (await get(multi, path, None)).text


async def test_a_report_without_values_is_given_to_all_as_it_is_kept(server: Hosted) -> None:
    report = report_on(2, wrong=False)
    answer = await get(server, await kept(server, report), None)
    assert answer.body == report.to_bytes()
    assert answer.headers["Cache-Control"].startswith("public")


def outcome(*findings: Finding) -> dict[str, object]:
    """What a worker tells of a run."""
    return outcome_of(Recorded(Report(findings=list(findings)), report_on(2)))


@pytest.mark.parametrize("code", ["replay-mismatch", "replay-engine-error"])
async def test_runs_events_and_schedules_tell_no_values(server: Hosted, code: str) -> None:
    await server.add("open", a_chain(1))
    job_id = JobId(VERIFY, dataset_id(1))
    await server.catalog.schedules.set(job_id, Schedule("0 0 1 1 *"))
    await server.ask("POST", f"{server.path('open')}/verify", who="alice")
    job = await server.catalog.jobs.claim_due([VERIFY], "worker", lease_s=600)
    assert job is not None
    said = Finding(Check.TRANSFORMS, code, f"cannot cast {SECRET}", sequence_number=3, found=SECRET)
    await server.catalog.jobs.finish(job, outcome=outcome(said))
    for what in ("verify", "verify/1", "verify/1/events", "schedule?job=verify"):
        answer = await get(server, f"{server.path('open')}/{what}", None)
        assert (answer.status, SECRET in answer.text, f"[{code}] block 3" in answer.text) == (200, False, True), what


def test_the_whole_report_has_the_values() -> None:
    assert SECRET in report_of(report_on(2)).as_text()


def test_the_outcome_has_block_and_code() -> None:
    assert orjson.loads(orjson.dumps(outcome(MISMATCH)["finding"])).startswith("damage [replay-mismatch] block 3: ")
