"""A changed verdict is told to the address that wants to know, again and again, and to no host it must not reach."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from catalog.alerts import ATTEMPTS_MAX, Webhook
from catalog.catalog import Catalog, open_catalog
from catalog.reports import KeptReport
from catalog.sqlite_files import sqlite_url
from opendatafabric.multihash import physical_hash
from storage.memory import MemoryObjectStore
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id
from verify.alerting import Alerting, change_told
from verify.report import Check, Finding, Report, Severity
from verify.report_making import Run, record_of
from verify.report_record import EnvironmentRecord
from verify.report_room import ReportRoom

ENVIRONMENT = EnvironmentRecord(software={}, platform="Linux")


@dataclass
class Listener:
    """A web server that is told, and answers what the test wants."""

    address: str = ""
    answers: list[int] = field(default_factory=list)
    heard: list[dict[str, Any]] = field(default_factory=list)

    async def hear(self, request: web.Request) -> web.Response:
        self.heard.append(orjson.loads(await request.read()))
        status = self.answers.pop(0) if self.answers else 200
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status == 302 else {})


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener, application = Listener(), web.Application()
    application.router.add_post("/{path:.*}", listener.hear)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    listener.address = f"http://127.0.0.1:{runner.addresses[0][1]}/hooks/s3cr3t"
    try:
        yield listener
    finally:
        await runner.cleanup()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening() as found:
        yield found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def catalog(tmp_path: Path, clock: Clock) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=clock) as opened:
        yield opened


async def wanted(catalog: Catalog, url: str, *, foreign: bool = False) -> Alerting:
    await catalog.alerts.set(dataset_id(1), Webhook(url, foreign))
    await catalog.alerts.tell(dataset_id(1), {"verdict": "invalid"})
    return Alerting(catalog.alerts, look_every_s=0.01)


async def test_what_changed_is_told_once(catalog: Catalog, listener: Listener, clock: Clock) -> None:
    alerting = await wanted(catalog, listener.address)
    assert await alerting.tell_one()
    clock.now += 1e6
    assert not await alerting.tell_one()
    assert listener.heard == [{"verdict": "invalid"}]


@pytest.mark.parametrize("answer", [500, 404, 302])
async def test_what_was_not_taken_is_told_again_later(
    catalog: Catalog, listener: Listener, clock: Clock, answer: int
) -> None:
    listener.answers = [answer]
    alerting = await wanted(catalog, listener.address)
    assert await alerting.tell_one()
    assert not await alerting.tell_one()
    clock.now += 60
    assert await alerting.tell_one()
    clock.now += 1e6
    assert not await alerting.tell_one()
    assert len(listener.heard) == 2


async def test_it_is_given_up_when_it_was_tried_often_enough(catalog: Catalog, clock: Clock) -> None:
    alerting = await wanted(catalog, "http://127.0.0.1:9/hook")
    for _ in range(ATTEMPTS_MAX):
        assert await alerting.tell_one()
        clock.now += 1e6
    assert not await alerting.tell_one()


async def test_a_stranger_reaches_no_host_of_ours(
    catalog: Catalog, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    alerting = await wanted(catalog, listener.address, foreign=True)
    with caplog.at_level(logging.WARNING, "odf.worker"):
        assert await alerting.tell_one()
    assert listener.heard == []
    assert "not public" in caplog.text


async def test_the_address_is_not_logged(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    alerting = await wanted(catalog, "http://127.0.0.1:9/hooks/s3cr3t?token=s3cr3t")
    with caplog.at_level(logging.WARNING, "odf.worker"):
        await alerting.tell_one()
    assert "127.0.0.1" in caplog.text
    assert "s3cr3t" not in caplog.text


async def test_it_goes_on_for_ever(catalog: Catalog, listener: Listener) -> None:
    alerting = await wanted(catalog, listener.address)
    telling = asyncio.create_task(alerting.tell_for_ever())
    try:
        async with asyncio.timeout(60):
            for expected in (1, 2):
                while len(listener.heard) < expected:  # noqa: ASYNC110  (the server under test has no event for it)
                    await asyncio.sleep(0.01)
                await catalog.alerts.tell(dataset_id(1), {"verdict": "valid"})
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


def report(verdict: str, head: bytes = b"head") -> KeptReport:
    return KeptReport(dataset_id(1), physical_hash(verdict.encode()), physical_hash(head), verdict, False, 0.0)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (None, "valid", False),
        (None, "invalid", True),
        (None, "error", True),
        ("valid", "valid", False),
        ("valid", "invalid", True),
        ("invalid", "invalid", False),
        ("invalid", "valid", True),
        ("error", "valid", True),
    ],
)
def test_a_change_is_told_and_only_that(before: str | None, now: str, told: bool) -> None:
    found = change_told("alice/weather", None if before is None else report(before), report(now))
    assert (found is not None) is told
    if found is not None:
        assert (found["verdictBefore"], found["verdict"], found["alias"]) == (before, now, "alice/weather")
        assert found["report"] == str(physical_hash(now.encode()))


async def test_a_report_with_another_verdict_is_told_of(catalog: Catalog) -> None:
    room, store = ReportRoom(catalog.reports, 10, alerts=catalog.alerts), MemoryObjectStore()
    await catalog.alerts.set(dataset_id(1), Webhook("http://127.0.0.1:9/", foreign=False))
    for minute, severity in enumerate((None, Severity.DAMAGE, Severity.DAMAGE, None)):
        findings = [] if severity is None else [Finding(Check.OBJECTS, "object-damaged", "it is damaged", severity)]
        found = Report(str(dataset_id(1)), physical_hash(b"head"), findings=findings)
        at = datetime(2026, 5, 1, 12, minute, tzinfo=UTC)
        await room.keep(store, record_of(found, Run("alice/weather", at, at, ENVIRONMENT, False, {})))
    told = [await catalog.alerts.take_due() for _ in range(3)]
    verdicts = [orjson.loads(each.body)["verdict"] for each in told if each is not None]
    assert verdicts == ["invalid", "valid"]
