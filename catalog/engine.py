"""The database behind the catalog: SQLite by default, others by URL. Opening it brings its schema up to date.

SQLite runs with a write-ahead log and enforced foreign keys; a writing transaction takes the write lock when it begins,
so that two writers queue instead of failing half-way.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any, Final

import aiosqlite
from sqlalchemy import Connection, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from catalog.upgrading import upgrade
from opendatafabric.errors import MalformedInput, StorageError, TransientStorageError

_BUSY_MS: Final = 15_000
"""How long a writer waits for another one."""

_THREAD_END_S_MAX: Final = 5
"""How long closing waits for the thread of a connection: what it runs at most is the statement it is in."""

_CONNECTIONS_MAX: Final = 8
"""Connections to an SQLite file; each has a thread."""

_IMMEDIATE: Final = "immediate"


class Database:
    """Transactions on one database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        database = engine.url.database
        self._file = database if engine.dialect.name == "sqlite" and database != ":memory:" else None
        self._drivers: list[aiosqlite.Connection] = []
        if engine.dialect.name == "sqlite":
            event.listen(engine.sync_engine, "do_connect", self._open_with_driver)
            event.listen(engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(engine.sync_engine, "begin", _begin_sqlite)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads."""
        with _translated():
            async with self._engine.connect() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that holds the write lock from its start; committed at the end, undone on any error."""
        with _translated():
            async with self._engine.connect() as connection:
                await connection.execution_options(**{_IMMEDIATE: True})
                async with connection.begin():
                    yield connection

    async def upgrade(self) -> None:
        """Bring the schema up to date."""
        with _translated():
            async with self._engine.connect() as connection:
                await connection.execution_options(**{_IMMEDIATE: True})
                async with connection.begin():
                    await connection.run_sync(upgrade)

    def version(self) -> Hashable | None:
        """What changes with every committed change by any process: the state of SQLite's files, ``None`` elsewhere."""
        # Every commit is appended to the log beside the database, and the log stays while a connection is open.
        return None if self._file is None else _file_state(f"{self._file}-wal") or _file_state(self._file)

    async def close(self) -> None:
        """Close every connection, and wait for the thread of each: what it still does for somebody who went away ends
        with a call to the event loop, which must be there. One that failed in opening the pool never knew."""
        await self._engine.dispose()
        for driver in self._drivers:
            if driver._thread.is_alive():
                driver.stop()
                await asyncio.to_thread(driver._thread.join, _THREAD_END_S_MAX)

    def _open_with_driver(self, _: object, __: object, ___: object, parameters: dict[str, Any]) -> None:
        parameters["async_creator_fn"] = self._driver

    def _driver(self, *args: Any, **parameters: Any) -> aiosqlite.Connection:
        # Known from its first moment on: who asks for a connection may go away before it is open.
        driver = aiosqlite.connect(*args, **parameters)
        driver._thread.daemon = True
        self._drivers = [*(each for each in self._drivers if each._thread.is_alive()), driver]
        return driver


def open_database(url: str) -> Database:
    """The database at an SQLAlchemy URL with an async driver.

    Raises:
        MalformedInput: no such URL.
    """
    try:
        engine = create_async_engine(url, **_pool_of(url))
    except (ArgumentError, ModuleNotFoundError) as error:
        raise MalformedInput(
            f"catalog URL cannot be used: {error}", hint="sqlite+aiosqlite:///catalog.sqlite"
        ) from None
    return Database(engine)


def _pool_of(url: str) -> dict[str, int]:
    # To open an SQLite file costs more than to wait for a connection: as many as ever are used stay open.
    parsed = make_url(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return {"pool_size": _CONNECTIONS_MAX, "max_overflow": 0} if is_file else {}


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by _begin_sqlite
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_BUSY_MS}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(_IMMEDIATE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _file_state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


class _translated:  # noqa: N801  used as a function
    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OperationalError):
            raise TransientStorageError(f"the catalog cannot be used: {error.orig}") from error
        if isinstance(error, SQLAlchemyError):
            raise StorageError(f"the catalog failed: {error}") from error
