"""A server, a client's session and a client's dataset for every scenario."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.sync.scenarios.stage import Stage
from tests.sync.smart_server import smart_server


@pytest.fixture(params=[True, False], ids=["base64", "raw"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """Everything that a transfer takes; with a server that knows our encoding and with one that does not."""
    async with smart_server(base64=request.param) as server, aiohttp.ClientSession() as session:
        yield Stage(server, session)
