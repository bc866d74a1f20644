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
from tests.ipfs.boxo_node import boxo_program, running_boxo
from tests.repo_server.hosted import a_chain
from tests.repo_server.ipfs.test_gateway import ABSENT, BIG, Gateway, gateway
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow

__all__ = ["boxo_program", "gateway"]


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


def pulled_from_ipfs(address: str, gateway_url: str, folder: Path) -> dict[str, bytes]:
    """The files of the dataset at ``address``, every block proved."""
    odf("init", folder)
    options = ("--as", "weather", "--repo", folder, "--ipfs-gateway", gateway_url, "--trustless")
    done = odf("pull", address, *options)
    assert done.code == 0, done.stderr
    (pulled,) = (path for path in folder.iterdir() if path.name.startswith("fed01"))
    return files_of(pulled)


async def test_a_dataset_is_pulled_from_our_gateway_without_trusting_it(gateway: Gateway, tmp_path: Path) -> None:
    source = await gateway.server.repository.find(gateway.server.alias("open"))
    for address in (f"ipfs://{gateway.root}/", f"ipns://{gateway.name}/"):
        pulled = await asyncio.to_thread(pulled_from_ipfs, address, gateway.server.url, tmp_path / address[:4])
        assert pulled == files_of(source.folder)


async def test_a_dataset_is_pulled_from_the_gateway_of_another_implementation_without_trusting_it(
    gateway: Gateway, boxo_program: Path, tmp_path: Path
) -> None:
    source = await gateway.server.repository.find(gateway.server.alias("open"))
    archive = (await gateway.get(f"/ipfs/{gateway.root}?format=car")).body
    with running_boxo(boxo_program) as url:
        for path in ("/import", f"/publish/weather?path=/ipfs/{gateway.root}"):
            async with gateway.server.session.post(url + path, data=archive) as answer:
                assert answer.status == 200
                said = await answer.json()
        for address in (f"ipfs://{gateway.root}/", f"ipns://{said['name']}/"):
            pulled = await asyncio.to_thread(pulled_from_ipfs, address, url, tmp_path / address[:4])
            assert pulled == files_of(source.folder)


async def test_the_requests_that_kamu_sends_are_answered_as_it_expects(gateway: Gateway) -> None:
    for root in (f"/ipfs/{gateway.root}", f"/ipns/{gateway.name}"):
        head = await gateway.get(f"{root}/refs/head", Accept="*/*")
        assert (head.status, head.body) == (200, str(gateway.chain.head).encode())
        for block in gateway.chain.blocks:
            assert (await gateway.get(f"{root}/blocks/{block.hash}", Accept="*/*")).body == block.raw
        for name, content in gateway.chain.slices.items():
            assert (await gateway.get(f"{root}/data/{name}", Accept="*/*")).body == content
        assert (await gateway.get(f"{root}/blocks/{gateway.secret.head}", Accept="*/*")).status == 404
    assert (await gateway.get(f"/ipfs/{ABSENT}/refs/head", Accept="*/*")).status in {404, 500}


async def test_a_push_is_published_without_waiting_for_the_next_round(gateway: Gateway) -> None:
    server, local = gateway.server, memory_dataset()
    longer = a_chain()
    longer.data(BIG)
    longer.info("pushed")
    await fill(local, longer)
    location = parse_remote(f"odf+{server.url}{server.path('open')}")
    await push.push_dataset(server.session, local, location, token=server.tokens["alice"], options=TransferOptions())
    assert (await gateway.published(longer.head))["root"] != str(gateway.root)
