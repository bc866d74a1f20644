"""What happens is read once, put into words once, and told to all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.events import Event, EventType
from catalog.sqlite_files import sqlite_url
from repo_server.event_feed import EventFeed
from tests.storage.chains import dataset_id


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as opened:
        yield opened


async def happen(catalog: Catalog, count: int = 1) -> None:
    for _ in range(count):
        await catalog.events.note(EventType.HEAD_MOVED, dataset_id(1), {})


def numbers(events: object) -> list[int]:
    assert isinstance(events, list | tuple)
    return [event.id for event in events]


async def test_listeners_are_told_what_each_has_not_heard(catalog: Catalog) -> None:
    feed = EventFeed(catalog.events, catalog.version, before_telling=nothing)
    await happen(catalog, 2)
    await feed.look()
    await happen(catalog, 3)
    await feed.look()
    heard = [numbers(await feed.after(number, patience_s=0)) for number in (0, 2, 4, 5, 9)]
    assert heard == [[1, 2, 3, 4, 5], [3, 4, 5], [5], [], []]


async def test_tokens_are_looked_at_before_anybody_is_told(catalog: Catalog) -> None:
    steps: list[str] = []

    async def looked() -> None:
        steps.append("looked")

    feed = EventFeed(catalog.events, catalog.version, before_telling=looked)
    await feed.look()
    steps.clear()

    async def listen() -> None:
        await feed.after(0, patience_s=60)
        steps.append("told")

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0)
    await happen(catalog)
    await feed.look()
    await listening
    assert steps == ["looked", "told"]


async def test_an_event_is_put_into_words_once(catalog: Catalog) -> None:
    feed, said = EventFeed(catalog.events, catalog.version, before_telling=nothing), list[int]()

    def say(event: Event) -> bytes:
        said.append(event.id)
        return b"%d" % event.id

    await happen(catalog, 2)
    first, second = await catalog.events.after(0)
    assert [feed.said(each, say) for each in (first, second, first)] == [b"1", b"2", b"1"]
    assert said == [1, 2]


async def nothing() -> None:
    pass
