"""The database: its settings, its schema, writers that queue, and what cannot be opened."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from catalog.catalog import Catalog, open_catalog
from catalog.engine import Database, open_database
from catalog.sqlite_files import sqlite_url
from catalog.tables import METADATA
from opendatafabric.errors import MalformedInput, OdfError, StorageError
from opendatafabric.names import AccountName


@pytest.mark.parametrize(("pragma", "value"), [("journal_mode", "wal"), ("foreign_keys", 1), ("synchronous", 2)])
async def test_sqlite_is_set_to_survive(url: str, catalog: Catalog, pragma: str, value: object) -> None:
    database = open_database(url)
    async with database.reading() as connection:
        assert (await connection.execute(text(f"PRAGMA {pragma}"))).scalar() == value
    await database.close()


async def test_the_migrated_schema_is_the_one_the_code_uses(catalog: Catalog, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'catalog.sqlite'}")
    found = inspect(engine)
    for table in METADATA.sorted_tables:
        columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
        assert columns == {column.name: column.nullable for column in table.columns}, table.name
        indexed = {tuple(index["column_names"]) for index in found.get_indexes(table.name)}
        assert {tuple(column.name for column in index.columns) for index in table.indexes} <= indexed, table.name
    engine.dispose()


async def test_opening_twice_at_once_migrates_once(url: str) -> None:
    async def use(name: str) -> None:
        async with open_catalog(url) as catalog:
            await catalog.accounts.create(AccountName(name))

    await asyncio.gather(*(use(f"account{number}") for number in range(4)))
    async with open_catalog(url) as catalog:
        assert len(await catalog.accounts.list()) == 4


async def test_a_writer_waits_for_another_one(url: str, catalog: Catalog, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "catalog.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(catalog.accounts.create(AccountName("alice")))
    await asyncio.wait({waiting}, timeout=0.1)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    assert (await waiting).name == "alice"


async def insert_and_fail(database: Database) -> None:
    row = "INSERT INTO accounts (id, name, name_folded, is_admin, created_at) VALUES ('i', 'n', 'n', 0, 0)"
    async with database.writing() as connection:
        await connection.execute(text(row))
        raise ZeroDivisionError


async def test_a_failed_transaction_leaves_nothing(url: str, catalog: Catalog) -> None:
    database = open_database(url)
    with pytest.raises(ZeroDivisionError):
        await insert_and_fail(database)
    await database.close()
    assert await catalog.accounts.list() == []


@pytest.mark.parametrize("url", ["", "nonsense", "nosuchdriver:///x", "sqlite+nosuch:///x"])
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(MalformedInput):
        async with open_catalog(url):
            pass


async def test_a_folder_that_does_not_exist_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        async with open_catalog(sqlite_url(tmp_path / "missing" / "catalog.sqlite")):
            pass


async def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"not a database" * 1_000)
    with pytest.raises(OdfError):
        async with open_catalog(sqlite_url(path)):
            pass
    assert path.read_bytes() == b"not a database" * 1_000


async def test_closing_waits_for_a_statement_of_somebody_who_went_away(url: str, catalog: Catalog) -> None:
    before = set(threading.enumerate())
    database = open_database(url)
    slow = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT max(x) FROM n"

    async def ask() -> None:
        async with database.reading() as connection:
            await connection.execute(text(slow))

    asking = asyncio.create_task(ask())
    while not set(threading.enumerate()) - before:  # noqa: ASYNC110  the thread of the connection begins
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})
    await database.close()
    assert not [thread for thread in threading.enumerate() if thread not in before and "worker" in thread.name]
