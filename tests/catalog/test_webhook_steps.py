"""Catalogs of former times that knew alerts: what was set is told on."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import create_engine

from catalog.catalog import open_catalog
from catalog.events import EventType
from catalog.sqlite_files import sqlite_url
from catalog.upgrading import take_steps
from catalog.webhooks import NewWebhook, Reach
from tests.storage.chains import dataset_id


async def test_an_alert_becomes_a_webhook_of_its_dataset(tmp_path: Path) -> None:
    file = tmp_path / "catalog.sqlite"
    with create_engine(f"sqlite:///{file}").begin() as connection:
        take_steps(connection, to="0033")
        rows = [(str(dataset_id(1)), "https://a.example/x", 1), (str(dataset_id(2)), "http://10.0.0.1/", 0)]
        for row in rows:
            connection.exec_driver_sql("INSERT INTO webhooks VALUES (?, ?, ?)", row)
    async with open_catalog(sqlite_url(file)) as catalog:
        found = [await catalog.webhooks.alert_of(dataset_id(number)) for number in (1, 2)]
    types = frozenset({EventType.VERDICT_CHANGED})
    assert [None if each is None else each.wanted for each in found] == [
        NewWebhook(url, Reach.DATASET, None, dataset_id(number), types, None, trusted, is_alert=True)
        for number, url, trusted in ((1, "https://a.example/x", False), (2, "http://10.0.0.1/", True))
    ]
