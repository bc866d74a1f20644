"""One server and one browser for all tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.browser.site import Site, site


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="site")
async def one_site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with site(tmp_path_factory.mktemp("site")) as running:
        yield running
