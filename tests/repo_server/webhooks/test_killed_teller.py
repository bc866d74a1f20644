"""A server process dies without warning while it tells a webhook: another one goes on, and nothing is left out."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from aiohttp import web

from catalog.catalog import open_catalog
from catalog.events import EventType
from catalog.sqlite_files import sqlite_path
from catalog.webhooks import NewWebhook, Reach
from repo_server.config import Settings
from storage.repository import Repository
from tests.repo_server.test_killed_server import server_over
from tests.repo_server.webhooks.receiver import receiving
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow


def a_minute_passes(settings: Settings) -> None:
    """For who holds a lease and does not live any more."""
    file = sqlite_path(settings.database_url)
    assert file is not None
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE webhooks SET lease_until = 0 WHERE lease_until IS NOT NULL")


async def test_what_it_was_telling_is_told_again_and_what_follows_once(tmp_path: Path) -> None:
    Repository.init(tmp_path / "datasets")
    settings = Settings(repo=tmp_path / "datasets")

    async def never(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with receiving() as receiver, open_catalog(settings.database_url) as catalog:
        receiver.answers = [204, never]
        new = NewWebhook(receiver.address, Reach.DATASET, None, dataset_id(1), trusted=True)
        webhook = await catalog.webhooks.add(new)
        async with server_over(tmp_path / "datasets") as server:
            for number in range(4):
                await catalog.events.note(EventType.HEAD_MOVED, dataset_id(1), {"blocks": number})
            await receiver.has_heard(2)
            server.kill()
        a_minute_passes(settings)
        async with server_over(tmp_path / "datasets"):
            heard = [each.event["data"]["blocks"] for each in await receiver.has_heard(5)]
        assert heard == [0, 1, 1, 2, 3]
        assert (await catalog.webhooks.find(webhook.id)).standing.state == "active"
