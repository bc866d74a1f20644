"""A dataset pulled through the gateway, as kamu pulls ``ipfs://`` and ``ipns://`` with this server as its gateway."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from repo_server.config import Tenancy
from sync import push
from sync.remote import parse_remote
from sync.transfer import TransferOptions
from tests.cli.runner import odf
from tests.repo_server.hosted import a_chain
from tests.repo_server.ipfs.test_gateway import BIG, Gateway, gateway
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset

__all__ = ["gateway"]


@pytest.fixture
def tenancy() -> Tenancy:
    return Tenancy.MULTI


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "info"
    }


@pytest.mark.parametrize("way", ["ipfs", "ipns"])
async def test_a_dataset_is_pulled_by_the_simple_protocol_and_equal_byte_for_byte(
    gateway: Gateway, tmp_path: Path, way: str
) -> None:
    name = gateway.root if way == "ipfs" else gateway.name
    target = tmp_path / "pulled"
    await asyncio.to_thread(odf, "init", target)
    url = f"{gateway.server.url}/{way}/{name}/"
    done = await asyncio.to_thread(odf, "pull", url, "--as", "weather", "--repo", target)
    assert done.code == 0, done.stderr
    source = await gateway.server.repository.find(gateway.server.alias("open"))
    (pulled,) = (path for path in target.iterdir() if path.name.startswith("fed01"))
    assert files_of(pulled) == files_of(source.path)


async def test_a_push_is_published_without_waiting_for_the_next_round(gateway: Gateway) -> None:
    server, local = gateway.server, memory_dataset()
    longer = a_chain()
    longer.data(BIG)
    longer.info("pushed")
    await fill(local, longer)
    location = parse_remote(f"odf+{server.url}{server.path('open')}")
    await push.push_dataset(server.session, local, location, token=server.tokens["alice"], options=TransferOptions())
    assert (await gateway.published(longer.head))["root"] != str(gateway.root)
