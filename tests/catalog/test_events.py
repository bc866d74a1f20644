"""What happened to datasets, kept in order."""

from __future__ import annotations

import asyncio

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.events import Event, EventType
from catalog.facts_refresh import refresh_facts
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from tests.catalog.conftest import Clock
from tests.repo_server.background.test_mirror import stored
from tests.repo_server.hosted import a_chain

MINE = a_chain().id


@pytest.fixture
async def known(catalog: Catalog, alice: Account) -> DatasetId:
    alias = DatasetAlias.from_text("alice/weather")
    await catalog.datasets.put(DatasetRecord(MINE, alias, alice.id, Visibility.PUBLIC))
    return MINE


async def told(catalog: Catalog, after: int = 0) -> list[Event]:
    return await catalog.events.after(after)


async def test_a_chain_that_is_read_for_the_first_time_is_a_new_dataset_and_then_a_moved_head(
    catalog: Catalog, known: DatasetId
) -> None:
    chain = a_chain()
    await refresh_facts(catalog.dataset_facts, known, await stored(chain))
    chain.data(b"more")
    await refresh_facts(catalog.dataset_facts, known, await stored(chain))
    await refresh_facts(catalog.dataset_facts, known, await stored(chain))
    made, moved = await told(catalog)
    assert (made.type, made.alias, made.public) == (EventType.CREATED, "alice/weather", True)
    assert made.details["previousHead"] is None
    assert (moved.type, moved.details["head"]) == (EventType.HEAD_MOVED, str(chain.head))
    assert moved.details["previousHead"] == made.details["head"]


async def test_a_move_is_told_once_whoever_finds_it(catalog: Catalog, known: DatasetId) -> None:
    dataset = await stored(a_chain())
    await asyncio.gather(*(refresh_facts(catalog.dataset_facts, known, dataset) for _ in range(8)))
    assert len(await told(catalog)) == 1


async def test_a_dataset_that_is_forgotten_is_gone_if_it_ever_was_there(catalog: Catalog, known: DatasetId) -> None:
    await catalog.datasets.forget(known)
    assert await told(catalog) == []
    await refresh_facts(catalog.dataset_facts, known, await stored(a_chain()))
    await catalog.datasets.forget(known)
    assert [each.type for each in await told(catalog)] == [EventType.CREATED, EventType.GONE]


async def test_a_dataset_that_is_not_there_any_more_is_gone_although_its_owner_is_remembered(
    catalog: Catalog, known: DatasetId
) -> None:
    await refresh_facts(catalog.dataset_facts, known, await stored(a_chain()))
    for _ in range(2):
        await catalog.dataset_facts.forget(known)
    made, gone = await told(catalog)
    assert (gone.type, gone.alias, gone.public) == (EventType.GONE, made.alias, True)


async def test_another_name_is_told_with_the_one_before(catalog: Catalog, known: DatasetId, alice: Account) -> None:
    for name in ("alice/weather", "alice/climate", "alice/climate"):
        await catalog.datasets.put(DatasetRecord(known, DatasetAlias.from_text(name), alice.id, Visibility.PUBLIC))
    (event,) = await told(catalog)
    assert (event.type, event.alias) == (EventType.RENAMED, "alice/climate")
    assert event.details == {"previousAlias": "alice/weather"}


async def test_visibility_is_told_when_it_is_another(catalog: Catalog, known: DatasetId) -> None:
    for visibility in (Visibility.PUBLIC, Visibility.PRIVATE, Visibility.PRIVATE):
        await catalog.datasets.set_visibility(known, visibility)
    (event,) = await told(catalog)
    assert (event.details, event.public) == ({"visibility": "private"}, False)


async def test_numbers_are_never_given_again(catalog: Catalog, clock: Clock) -> None:
    for _ in range(3):
        await catalog.events.note(EventType.GONE, MINE, {})
    newest = await catalog.events.newest()
    clock.now += 1_000
    await catalog.events.clear(older_than_s=100)
    assert await told(catalog) == []
    await catalog.events.note(EventType.GONE, MINE, {})
    (event,) = await told(catalog, newest)
    assert event.id == newest + 1


async def test_events_of_other_processes_come_in_the_same_order(catalog: Catalog, url: str, clock: Clock) -> None:
    async with open_catalog(url, now=clock) as other:
        both = (catalog, other)
        await asyncio.gather(*(both[n % 2].events.note(EventType.GONE, MINE, {"n": n}) for n in range(40)))
        seen: list[Event] = []
        while more := await other.events.after(seen[-1].id if seen else 0, count=7):
            seen += more
    assert [each.id for each in seen] == sorted(each.id for each in seen)
    assert sorted(each.details["n"] for each in seen) == list(range(40))
