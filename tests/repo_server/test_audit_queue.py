"""The way into the audit log: nothing waits alone, nothing is lost when a server ends, and no flood fills the disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.audit import Audit, Deed
from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import TransientStorageError
from repo_server.audit_queue import (
    LEFT_OUT,
    LEFT_OUT_ADDRESSES_MAX,
    REFUSALS_OF_ALL,
    REFUSALS_OF_ONE,
    AuditQueue,
)
from tests.catalog.conftest import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def catalog(tmp_path: Path, clock: Clock) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=clock) as opened:
        yield opened


@pytest.fixture
async def queue(catalog: Catalog, clock: Clock) -> AsyncIterator[AuditQueue]:
    made = AuditQueue(catalog.audit, clock)
    yield made
    await made.settle()


async def written(catalog: Catalog) -> list[tuple[str, str]]:
    return [(entry.action, entry.subject) for entry in reversed(await catalog.audit.list(limit=10_000))]


async def test_a_deed_is_in_the_log_when_that_is_said(catalog: Catalog, queue: AuditQueue) -> None:
    await queue.written(Deed("a", "alice"))
    assert await written(catalog) == [("a", "alice")]


async def test_many_at_once_share_their_transactions(
    catalog: Catalog, queue: AuditQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    append_all = Audit.append_all

    async def counting(audit: Audit, deeds: list[Deed]) -> None:
        batches.append(len(deeds))
        await append_all(audit, deeds)

    monkeypatch.setattr(Audit, "append_all", counting)
    await asyncio.gather(*(queue.written(Deed("a", str(number))) for number in range(100)))
    assert await written(catalog) == [("a", str(number)) for number in range(100)]
    assert len(batches) <= 2
    assert await catalog.audit.check() is None


async def test_who_goes_away_does_not_take_the_entry_along(catalog: Catalog, queue: AuditQueue) -> None:
    writing = asyncio.create_task(queue.written(Deed("a")))
    await asyncio.sleep(0)
    writing.cancel()
    await queue.settle()
    assert await written(catalog) == [("a", "")]


async def test_equal_deeds_are_added_up(catalog: Catalog, queue: AuditQueue) -> None:
    for size in (1, 20, 300):
        queue.count(Deed("PUT", "alice/a", {"token": "t"}), size=size)
    queue.count(Deed("PUT", "alice/a", {"token": "u"}), size=7)
    await queue.settle()
    entries = await catalog.audit.list()
    assert [dict(entry.details) for entry in reversed(entries)] == [
        {"token": "t", "times": 3, "bytes": 321},
        {"token": "u", "times": 1, "bytes": 7},
    ]


async def test_a_flood_of_one_address_is_counted_and_does_not_keep_others_out(
    catalog: Catalog, queue: AuditQueue, clock: Clock
) -> None:
    for _ in range(10 * REFUSALS_OF_ONE.count):
        queue.refused(Deed("PUT", "alice/a"), "203.0.113.9")
    queue.refused(Deed("PUT", "alice/b"), "198.51.100.1")
    await queue.settle()
    found = await written(catalog)
    assert found.count(("PUT", "alice/a")) == REFUSALS_OF_ONE.count
    assert ("PUT", "alice/b") in found
    [left_out] = [entry for entry in await catalog.audit.list() if entry.action == LEFT_OUT]
    assert (left_out.subject, left_out.details["times"]) == ("203.0.113.9", 9 * REFUSALS_OF_ONE.count)
    clock.now += REFUSALS_OF_ONE.window_s
    queue.refused(Deed("PUT", "alice/c"), "203.0.113.9")
    await queue.settle()
    assert (await written(catalog))[-1] == ("PUT", "alice/c")


async def test_a_flood_of_many_addresses_is_bounded_too(catalog: Catalog, queue: AuditQueue) -> None:
    for number in range(REFUSALS_OF_ALL.count + 5_000):
        queue.refused(Deed("PUT"), f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    await queue.settle()
    entries = await catalog.audit.list(limit=10_000)
    left_out = [entry for entry in entries if entry.action == LEFT_OUT]
    assert len(entries) - len(left_out) == REFUSALS_OF_ALL.count
    assert len(left_out) <= LEFT_OUT_ADDRESSES_MAX + 1
    assert sum(entry.details["times"] for entry in left_out) == 5_000


async def test_what_the_catalog_does_not_take_is_in_the_log_of_the_server(
    queue: AuditQueue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(*_: object) -> None:
        raise TransientStorageError("the disk is away")

    monkeypatch.setattr(Audit, "append_all", failing)
    with caplog.at_level(logging.ERROR, "odf.server"):
        await queue.written(Deed("PUT", "alice/a", {"token": "t"}))
    [record] = caplog.records
    assert record.fields["deed"] == {"action": "PUT", "subject": "alice/a", "token": "t"}  # type: ignore[attr-defined]
