"""What docker-compose.yml describes, started natively: the same settings, script and Caddyfile, and real programs.

versitygw stands for MinIO and js-ipfs for Kubo; the names of the services become addresses of this machine.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import DatasetTarget
from tests.infra.caddy import running_caddy
from tests.infra.test_compose import COMPOSE
from tests.ipfs.independent import fetched_by_kubo
from tests.ipfs.node import NodeAddresses, ipfs_node
from tests.repo_server.background.test_mirror import stored
from tests.repo_server.hosted import a_chain
from tests.source_tree import ROOT
from tests.storage.s3.servers import KEYS, free_port, versitygw

__all__ = ["ipfs_node"]
pytestmark = pytest.mark.slow
START_S_MAX = 60
ODF = Path(sys.executable).parent / "odf"


@dataclass
class Composed:
    """Everything at work; ``environment`` is that of the server."""

    url: str
    session: aiohttp.ClientSession
    environment: dict[str, str]
    buckets: Path

    def odf(self, *arguments: str) -> str:
        """``docker compose exec server odf ARGUMENTS…``."""
        command = [str(ODF), *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def environment_of(service: str, places: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    """The variables of a service, with ``given`` put in and the names of services led to ``places``."""
    found = {}
    for name, value in COMPOSE["services"][service]["environment"].items():
        text = re.sub(r"\$\{(\w+)(?::[-?][^}]*)?\}", lambda match: given[match[1]], value)
        for there, here in places.items():
            text = text.replace(there, here)
        found[name] = text
    return found


@asynccontextmanager
async def running_server(environment: dict[str, str]) -> AsyncIterator[str]:
    """The script of the container, until its server listens; the address."""
    server = await asyncio.create_subprocess_exec(
        str(ROOT / "infra" / "container" / "start.sh"), env=environment, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    try:
        async with asyncio.timeout(START_S_MAX):
            while not (line := await server.stdout.readline()).startswith(b"http"):
                assert line, "the server ended"
        yield line.decode().strip()
    finally:
        server.terminate()
        await server.wait()


@pytest.fixture
async def composed(tmp_path: Path, ipfs_node: NodeAddresses) -> AsyncIterator[Composed]:
    port, https_port = free_port(), free_port()
    with versitygw(tmp_path / "buckets") as store:
        given = {"ODF_DOMAIN": f"localhost:{https_port}", "ODF_S3_SECRET": KEYS["AWS_SECRET_ACCESS_KEY"]}
        places = {"minio:9000": f"127.0.0.1:{store.port}", "/data/": f"{tmp_path}/", "8080": str(port)}
        environment = {
            **os.environ,
            **environment_of("server", places, given),
            "AWS_ACCESS_KEY_ID": KEYS["AWS_ACCESS_KEY_ID"],
            "ODF_HOST": "127.0.0.1",
            "PATH": f"{ODF.parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        async with (
            running_server(environment),
            running_caddy(tmp_path, https_port, upstream=f"127.0.0.1:{port}") as session,
        ):
            yield Composed(f"https://localhost:{https_port}", session, environment, tmp_path / "buckets")


async def test_a_push_through_caddy_lands_in_the_store_goes_on_to_ipfs_and_comes_back(
    composed: Composed, ipfs_node: NodeAddresses, tmp_path: Path
) -> None:
    chain = a_chain(77)
    token = composed.odf("token", "create", "alice")
    remote = parse_remote(f"odf+{composed.url}/alice/weather")
    await push_dataset(composed.session, await stored(chain), remote, token=token)
    assert any(path.name == str(chain.head) for path in composed.buckets.rglob("odf/datasets/*/blocks/*"))

    composed.odf("mirror", "add", ipfs_node.rpc, "--push", "%")
    assert composed.odf("mirror", "run", "1") == "mirror 1: up to date"
    root = re.search(r'"root": ?"(\w+)"', composed.odf("mirror", "status", "--json"))
    assert root is not None
    fetched = await fetched_by_kubo(ipfs_node, root[1], tmp_path)
    assert (fetched / "refs" / "head").read_text() == str(chain.head)

    copy = Dataset(MemoryObjectStore(), MemoryRefStore())
    await pull_dataset(composed.session, remote, DatasetTarget(copy), token=token)
    assert await copy.head() == chain.head


async def test_what_was_pushed_is_there_after_a_restart(composed: Composed) -> None:
    chain = a_chain(78)
    token = composed.odf("token", "create", "alice")
    remote = parse_remote(f"odf+{composed.url}/alice/rain")
    await push_dataset(composed.session, await stored(chain), remote, token=token)
    async with (
        running_server({**composed.environment, "ODF_PORT": "0"}) as address,
        composed.session.get(f"{address}/alice/rain/refs/head", headers={"Authorization": f"Bearer {token}"}) as answer,
    ):
        assert await answer.text() == str(chain.head)
