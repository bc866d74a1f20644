"""Reports are kept beside the dataset and listed; what is not worth keeping goes; a lost list is made again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.catalog import open_catalog
from catalog.reports import KeptReport
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import HashMismatch, ObjectNotFound
from opendatafabric.layout import report_key
from opendatafabric.multihash import physical_hash
from storage.memory import MemoryObjectStore
from tests.verify.reports import DAMAGE, DATASET, INPUT, record
from verify.report import Verdict
from verify.report_room import ReportRoom, change_told, list_stored, read_report


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[ReportRoom]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        yield ReportRoom(catalog.reports, keep_last=2)


@pytest.fixture
def store() -> MemoryObjectStore:
    return MemoryObjectStore()


async def test_a_report_is_stored_under_its_hash_byte_for_byte(room: ReportRoom, store: MemoryObjectStore) -> None:
    kept = await room.keep(store, record(DAMAGE))
    assert kept == record(DAMAGE).hash()
    assert await read_report(store, kept) == record(DAMAGE).to_bytes()


async def test_the_list_tells_verdict_head_and_time(room: ReportRoom, store: MemoryObjectStore) -> None:
    await room.keep(store, record(DAMAGE))
    (listed,) = await room.listed.of(DATASET)
    assert (listed.verdict, str(listed.head)) == ("invalid", record().head)
    assert listed.ended_at == 1_767_323_047.678


async def test_a_report_on_nobody_knows_what_is_not_kept(room: ReportRoom, store: MemoryObjectStore) -> None:
    unknown = record().model_copy(update={"dataset_id": None})
    assert await room.keep(store, unknown) is None
    assert not store.objects


async def test_the_last_ones_and_every_change_of_the_verdict_stay(room: ReportRoom, store: MemoryObjectStore) -> None:
    found = [(), (DAMAGE,), (DAMAGE,), (DAMAGE,), (), (), ()]
    kept = [await room.keep(store, record(*each, later_s=at)) for at, each in enumerate(found)]
    left = [kept[at] for at in (6, 5, 4, 3, 1, 0)]
    assert [each.hash for each in await room.listed.of(DATASET)] == left
    assert set(store.objects) == {report_key(each) for each in left if each is not None}


async def test_the_last_report_says_what_is_known(room: ReportRoom, store: MemoryObjectStore) -> None:
    await room.keep(store, record(later_s=1))
    last = await room.keep(store, record(DAMAGE, later_s=2))
    assert await room.known([DATASET, INPUT]) == {DATASET: (Verdict.INVALID, last)}


async def test_a_damaged_report_is_not_given_out(store: MemoryObjectStore) -> None:
    name = physical_hash(b"report")
    with pytest.raises(ObjectNotFound):
        await read_report(store, name)
    store.objects[report_key(name)] = b"another"
    with pytest.raises(HashMismatch):
        await read_report(store, name)


async def test_a_lost_list_is_made_again_from_what_is_stored(room: ReportRoom, store: MemoryObjectStore) -> None:
    for at in (1, 2):
        await room.keep(store, record(later_s=at))
    before = await room.listed.of(DATASET)
    await room.listed.forget(DATASET, [each.hash for each in before])
    for raw in (b"no report", record(later_s=3).model_copy(update={"dataset_id": None}).to_bytes()):
        await store.put(report_key(physical_hash(raw)), raw)
    store.objects[report_key(physical_hash(b"damaged"))] = b"other"
    assert await list_stored(room.listed, store) == 2
    assert await room.listed.of(DATASET) == before


def kept(verdict: str) -> KeptReport:
    return KeptReport(DATASET, physical_hash(verdict.encode()), physical_hash(b"head"), verdict, False, 0.0)


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
    found = change_told(None if before is None else kept(before), kept(now))
    assert (found is not None) is told
    if found is not None:
        assert (found["verdictBefore"], found["verdict"]) == (before, now)
        assert found["report"] == str(physical_hash(now.encode()))
