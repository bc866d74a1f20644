"""A real IPFS node for tests: js-ipfs by its lock (tools/ipfs_node.sh), or a Kubo that the environment names.

``ODF_TEST_KUBO_API`` and ``ODF_TEST_KUBO_GATEWAY`` (``http://host:port``) make the same tests run against that node.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.source_tree import ROOT

FOLDER = ROOT / "tests" / "ipfs"
START_S_MAX = 60


@dataclass(frozen=True)
class NodeAddresses:
    """Where a node listens. ``is_kubo`` is false for js-ipfs, which can do less."""

    rpc: str
    gateway: str
    swarm: tuple[str, ...]
    is_kubo: bool


@pytest.fixture(scope="session")
def ipfs_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeAddresses]:
    """A node that all tests of this process share."""
    given = os.environ.get("ODF_TEST_KUBO_API")
    if given:
        yield NodeAddresses(f"kubo+{given}", os.environ.get("ODF_TEST_KUBO_GATEWAY", ""), (), is_kubo=True)
        return
    if not (FOLDER / "node_modules" / ".installed").is_file():
        pytest.skip("js-ipfs is not installed (tools/ipfs_node.sh says why), and ODF_TEST_KUBO_API names no Kubo")
    with running_node(tmp_path_factory.mktemp("js-ipfs")) as node:
        yield node


class running_node:  # noqa: N801  used as a function
    """js-ipfs on loopback, its repository in ``folder``; ended with SIGTERM, killed if it must be.

    On free ports, or with its RPC at ``api_port`` where it was before.
    """

    def __init__(self, folder: Path, *, api_port: int = 0) -> None:
        self._folder = folder
        self._api_port = api_port

    def __enter__(self) -> NodeAddresses:
        command = ["node", str(FOLDER / "node.mjs"), str(self._folder / "repo"), str(self._api_port)]
        self._log = (self._folder / "stderr.txt").open("w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (self._folder / "stderr.txt").read_text()
        ready = json.loads(line)
        return NodeAddresses(f"kubo+{ready['api'][0]}", ready["gateway"][0], tuple(ready["swarm"]), is_kubo=False)

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
