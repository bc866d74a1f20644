"""Servers for the tests of this folder, in both tenancies; in the fast tests only servers that are shared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from catalog.visibility import Visibility
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder

_SHARED: Final = {"shared", "shared_multi"}


@pytest.fixture(
    params=[Tenancy.MULTI, pytest.param(Tenancy.SINGLE, marks=pytest.mark.slow)], ids=lambda tenancy: tenancy.value
)
def tenancy(request: pytest.FixtureRequest) -> Tenancy:
    found: Tenancy = request.param
    return found


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, tenancy) as running_server:
        yield running_server


@pytest.fixture
async def multi(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI) as running_server:
        yield running_server


@pytest.fixture
async def chain(server: Hosted) -> ChainBuilder:
    """What lies in the public dataset ``open`` and the private dataset ``secret`` (another id, the same blocks)."""
    return await _filled(server)


@pytest.fixture(scope="module", params=list(Tenancy), ids=lambda tenancy: tenancy.value)
def shared_tenancy(request: pytest.FixtureRequest) -> Tenancy:
    found: Tenancy = request.param
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, shared_tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """A server for all tests of a module that change nothing, or nothing that another one looks at."""
    async with _shared(tmp_path_factory, shared_tenancy) as running_server:
        yield running_server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_multi(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    """The same with accounts, as ``multi``."""
    async with _shared(tmp_path_factory, Tenancy.MULTI) as running_server:
        yield running_server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_chain(shared: Hosted) -> ChainBuilder:
    """What lies in the datasets ``open`` and ``secret`` of that server, as ``chain``."""
    return await _filled(shared)


def _shared(folders: pytest.TempPathFactory, tenancy: Tenancy) -> AbstractAsyncContextManager[Hosted]:
    unlimited = dict.fromkeys(("writes_per_minute", "bad_tokens_per_minute", "failed_logins_per_5_minutes"), 0)
    return hosted(folders.mktemp("shared"), tenancy, **unlimited)


async def _filled(server: Hosted) -> ChainBuilder:
    found = a_chain()
    await server.add("open", found)
    await server.add("secret", a_chain(2), Visibility.PRIVATE)
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """A test runs in the loop of the server it asks."""
    if not _SHARED.isdisjoint(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)
