"""An IPFS implementation that shares no code with the others: told a peer and a CID, it fetches what is there."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.ipfs.node import NodeAddresses
from tests.source_tree import ROOT

FETCH_S_MAX = 60


async def fetched_by_kubo(node: NodeAddresses, cid: object, folder: Path) -> Path:
    """What a real Kubo gets from ``node`` over bitswap under ``cid``, as a folder."""
    if not node.swarm:
        pytest.skip("the node that the environment names tells no address for peers")
    command = [sys.executable, str(ROOT / "tests" / "ipfs" / "libkubo_peer.py")]
    arguments = [str(folder / "kubo"), node.swarm[0], str(cid), str(folder / "fetched")]
    fetching = await asyncio.create_subprocess_exec(*command, *arguments, cwd=folder)  # it logs there
    assert await asyncio.wait_for(fetching.wait(), FETCH_S_MAX) == 0
    return folder / "fetched"
