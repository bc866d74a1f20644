"""Servers that run beside the client, which waits: each in a loop of its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

import odf_client
from catalog.facts_refresh import refresh_facts
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.query.cities import add_cities

T = TypeVar("T")


class Beside:
    """A loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._stack = AsyncExitStack()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def enter(self, context: AbstractAsyncContextManager[T]) -> T:
        return self.run(self._stack.enter_async_context(context))

    def close(self) -> None:
        self.run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def beside() -> Iterator[Beside]:
    found = Beside()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def no_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-the-user"))


@pytest.fixture
def cache(tmp_path: Path) -> odf_client.Cache:
    return odf_client.Cache(tmp_path / "cache")


@dataclass(frozen=True)
class Cities:
    """A server that holds ``alice/cities``: six records in three slices, a day each."""

    server: Hosted
    beside: Beside
    folder: Path

    @property
    def url(self) -> str:
        return self.server.url + self.server.path("cities")

    @property
    def stored(self) -> Path:
        """Where the server keeps the dataset."""
        (found,) = (path.parent for path in (self.folder / "datasets").glob("**/blocks"))
        return found


@pytest.fixture(scope="module", params=list(Tenancy), ids=lambda tenancy: tenancy.value)
def cities(beside: Beside, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Cities:
    """In both tenancies; to be left as it is."""
    return with_cities(beside, tmp_path_factory.mktemp("cities"), request.param)


@pytest.fixture(scope="module")
def multi(beside: Beside, tmp_path_factory: pytest.TempPathFactory) -> Cities:
    """To be left as it is."""
    return with_cities(beside, tmp_path_factory.mktemp("multi"), Tenancy.MULTI)


@pytest.fixture
def own(beside: Beside, tmp_path: Path) -> Cities:
    """For one test alone, which may change it."""
    return with_cities(beside, tmp_path, Tenancy.MULTI)


def with_cities(beside: Beside, folder: Path, tenancy: Tenancy) -> Cities:
    cities = Cities(beside.enter(hosted(folder, tenancy)), beside, folder)
    beside.run(add_listed(cities))
    return cities


async def refresh(cities: Cities, name: str = "cities") -> None:
    """Have the index, and with it events, know what lies there now."""
    entry = await cities.server.repository.find(cities.server.alias(name))
    await refresh_facts(cities.server.catalog.dataset_facts, entry.id, entry.dataset)


async def add_listed(cities: Cities, **options: Any) -> None:
    """Cities of alice's that lists know of."""
    await add_cities(cities.server, cities.folder, **options)
    await refresh(cities, options.get("name", "cities"))
