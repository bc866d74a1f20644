"""``odf serve`` as a process of its own: any number of them over one repository, each on a free port."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Served:
    """A server process and the address it took."""

    process: subprocess.Popen[str]
    address: str

    def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        self.process.wait()


@asynccontextmanager
async def served(repository: object, **environment: str) -> AsyncIterator[Served]:
    """A process that serves ``repository`` with these settings beside those of this process."""
    process = await asyncio.to_thread(_started, str(repository), environment)
    assert process.stdout is not None
    address = (await asyncio.to_thread(process.stdout.readline)).strip()
    try:
        yield Served(process, address)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
        process.stdout.close()


def _started(repository: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cli.main", "serve", "--port", "0", "--repo", repository]
    settings = {**os.environ, "ODF_ACCESS_LOG": "false", "ODF_LOG_LEVEL": "WARNING", **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings)
