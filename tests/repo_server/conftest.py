"""Servers for the tests of this folder, in both tenancies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.visibility import Visibility
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder


@pytest.fixture(params=list(Tenancy), ids=lambda tenancy: tenancy.value)
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
    found = a_chain()
    await server.add("open", found)
    await server.add("secret", a_chain(2), Visibility.PRIVATE)
    return found
