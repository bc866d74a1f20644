"""Where scenarios are played: in memory, over sockets, and with the real server in both tenancies.

``world`` is every one of them, for what must hold everywhere. ``stage`` are those whose server a test may look into.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from repo_server.config import Tenancy
from tests.sync.scenarios.stage import Stage, World
from tests.sync.scenarios.worlds import memory_world, server_world, socket_world

STAGES = ["memory", "base64", "raw"]


@pytest.fixture(params=STAGES)
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with _staged(request.param) as found:
        yield found


@pytest.fixture(params=["memory", "base64", "single", "multi"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    name: str = request.param
    async with _staged(name) if name in STAGES else server_world(tmp_path, Tenancy(name)) as found:
        yield found


def _staged(name: str) -> AbstractAsyncContextManager[Stage]:
    return memory_world() if name == "memory" else socket_world(base64=name == "base64")
