"""The index of facts follows the heads, whoever moves them, and nobody waits long for it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.dataset_facts import DatasetFacts
from catalog.events import EventType
from catalog.facts_refresh import refresh_many
from catalog.sqlite_files import sqlite_url
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.layout import block_key
from opendatafabric.names import AccountName
from repo_server.background import indexing
from repo_server.background.indexing import Indexing
from storage.dataset import Dataset
from storage.repository import DatasetEntry, Repository
from tests.storage.chains import ChainBuilder, chain

pytestmark = pytest.mark.slow

DEADLINE_S = 30


class Place:
    """A repository, its catalog and what is under test."""

    def __init__(self, repository: Repository, catalog: Catalog, indexing: Indexing) -> None:
        self.repository, self.catalog, self.indexing = repository, catalog, indexing

    async def add(self, name: str, made: ChainBuilder) -> DatasetEntry:
        """A dataset that a program without a catalog put here."""
        entry = await self.repository.create(DatasetAlias.from_text(name), made.id)
        await entry.dataset.append(made.blocks, expected_head=None)
        return entry

    async def append(self, entry: DatasetEntry, made: ChainBuilder, text: str) -> None:
        expected = made.head
        block = made.info(text)
        await entry.dataset.append([block], expected_head=expected)

    async def description(self, entry: DatasetEntry) -> str | None:
        """As the index has it, not looking at the dataset."""
        facts = await self.catalog.dataset_facts.of(entry.id)
        return None if facts is None else facts.description


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    repository = Repository.init(tmp_path / "datasets")
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        owner = await catalog.accounts.create(AccountName("alice"))
        made = Indexing(repository, catalog, default_owner=owner, default_visibility=Visibility.PUBLIC)
        yield Place(repository, catalog, made)
        await made.settle()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await condition():  # noqa: ASYNC110  it waits for a database
            await asyncio.sleep(0.02)


async def test_who_looks_at_a_dataset_sees_what_was_just_appended(place: Place) -> None:
    made = chain(["a"])
    entry = await place.add("x", made)
    for text in ("b", "c"):
        await place.append(entry, made, text)
        facts = await place.indexing.facts_of(entry.id, entry.dataset)
        assert facts is not None
        assert (facts.description, facts.head) == (text, made.head)


async def test_a_head_that_moved_is_followed_without_anybody_looking(place: Place) -> None:
    made = chain(["a"])
    entry = await place.add("x", made)
    place.indexing.wake(entry.id)
    await place.append(entry, made, "b")
    place.indexing.wake(entry.id)

    async def known() -> bool:
        return await place.description(entry) == "b"

    await until(known)


async def test_a_damaged_chain_is_told_as_far_as_it_is_known(place: Place) -> None:
    made = chain(["a"])
    entry = await place.add("x", made)
    await place.indexing.facts_of(entry.id, entry.dataset)
    await place.append(entry, made, "b")
    (entry.folder / block_key(made.head)).write_bytes(b"damage")
    facts = await place.indexing.facts_of(entry.id, entry.dataset)
    assert facts is not None
    assert facts.description == "a"


async def test_looking_at_all_finds_what_others_put_here_and_forgets_what_is_gone(place: Place) -> None:
    first, second = await place.add("x", chain(["a"])), await place.add("y", chain(["b"], number=2))
    await place.indexing.look_at_all()
    assert (await place.description(first), await place.description(second)) == ("a", "b")
    assert await place.catalog.datasets.find(second.id) is not None
    await place.repository.delete(second.id)
    await place.indexing.look_at_all()
    assert await place.description(second) is None
    assert await place.catalog.datasets.find(second.id) is None


async def test_moves_that_another_process_noted_are_followed_while_it_runs(place: Place) -> None:
    made = chain(["a"])
    entry = await place.add("x", made)
    running = asyncio.create_task(place.indexing.run_for_ever(look_every_s=3_600))

    async def found() -> bool:
        return await place.description(entry) == "a"

    async def moved() -> bool:
        return await place.description(entry) == "b"

    await until(found)
    expected = made.head
    await place.append(entry, made, "b")
    await place.catalog.datasets.log_move(entry.id, None, expected_head=expected, new_head=made.head)
    await until(moved)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_what_is_known_of_a_deleted_dataset_stays_for_when_it_comes_back(place: Place) -> None:
    entry = await place.add("x", chain(["a"]))
    await place.indexing.facts_of(entry.id, entry.dataset)
    await place.repository.delete(entry.id)
    place.indexing.wake(entry.id)
    await asyncio.sleep(0)
    await place.indexing.settle()
    assert await place.description(entry) == "a"


async def test_many_datasets_are_looked_at_together_and_a_damaged_one_holds_nobody_up(place: Place) -> None:
    entries = [await place.add(f"d{number}", chain([f"of {number}"], number=number)) for number in range(1, 8)]
    damaged = entries[3]
    (damaged.folder / block_key(chain(["of 4"], number=4).head)).write_bytes(b"damage")
    before = await place.catalog.events.newest()
    await place.indexing.look_at_all()
    assert place.indexing.left == 0
    for number, entry in enumerate(entries, start=1):
        assert await place.description(entry) == (None if entry is damaged else f"of {number}")
    told = await place.catalog.events.after(before)
    assert len([each for each in told if each.type is EventType.CREATED]) == 6


async def test_how_many_are_left_is_known_meanwhile(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_BATCH", 2)
    for number in range(1, 6):
        await place.add(f"d{number}", chain(["a"], number=number))
    left: list[int] = []
    assert not place.indexing.is_complete

    async def watched(index: DatasetFacts, datasets: Mapping[DatasetId, Dataset]) -> dict[DatasetId, OdfError]:
        left.append(place.indexing.left)
        return await refresh_many(index, datasets)

    monkeypatch.setattr(indexing, "refresh_many", watched)
    await place.indexing.look_at_all()
    assert (left, place.indexing.left, place.indexing.is_complete) == ([5, 3, 1], 0, True)


async def test_what_a_command_did_is_followed_while_it_runs(place: Place) -> None:
    running = asyncio.create_task(place.indexing.run_for_ever(look_every_s=3_600))
    first = await place.add("x", chain(["a"]))

    async def found() -> bool:
        await place.catalog.audit.append("odf add", "x", {})
        return await place.description(first) == "a"

    await until(found)
    await place.repository.delete(first.id)
    await place.catalog.audit.append("odf delete", "x", {})

    async def gone() -> bool:
        return await place.catalog.datasets.find(first.id) is None

    await until(gone)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_what_former_software_gathered_is_gathered_anew_and_told_nobody(place: Place, tmp_path: Path) -> None:
    entry = await place.add("x", chain(["a"]))
    await place.indexing.look_at_all()
    with sqlite3.connect(tmp_path / "catalog.sqlite") as connection:
        connection.execute("UPDATE dataset_facts SET form = 1, description = 'as it was'")
    newest = await place.catalog.events.newest()
    await place.indexing.look_at_all()
    assert await place.description(entry) == "a"
    assert await place.catalog.events.newest() == newest
