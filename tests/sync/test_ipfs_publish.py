"""A dataset mirrored to a real IPFS node: what is sent, kept, named and forgotten, also when a run is cut."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import open_catalog
from catalog.ipfs import IpfsTables
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import (
    HashMismatch,
    MalformedIdentifier,
    ObjectNotFound,
    OdfError,
    RefNotFound,
    TransientStorageError,
)
from opendatafabric.ipfs.cid import Cid
from opendatafabric.layout import data_key
from opendatafabric.limits import IPNS_RENEWAL_S
from storage.dataset import Dataset
from storage.ipfs.access import IpfsAccess
from storage.ipfs.node import IpfsNode
from storage.ipfs.rpc import KuboRpc, Patience
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import Connection, open_dataset
from sync.ipfs_publish import IpfsMirrorState, IpfsTarget, parse_ipfs_target, publish_to_ipfs
from tests.ipfs.independent import fetched_by_kubo
from tests.ipfs.node import NodeAddresses
from tests.storage.chains import ChainBuilder, dataset_id

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0


class CountingNode(IpfsNode):
    """A node that counts what it is sent, and fails where a test says."""

    def __init__(self, rpc: KuboRpc) -> None:
        super().__init__(rpc)
        self.sent: list[int] = []
        self.published = 0
        self.fails_at: str | None = None
        self.loses: set[Cid] = set()

    async def import_car(self, pieces: AsyncIterator[bytes], *, roots: Sequence[Cid]) -> None:
        self._fail("import")
        self.sent.append(0)

        async def counted() -> AsyncIterator[bytes]:
            async for piece in pieces:
                self.sent[-1] += len(piece)
                yield piece

        await super().import_car(counted(), roots=roots)
        self._fail("after import")

    async def publish(self, key: str, root: Cid, *, lifetime_s: int) -> None:
        self._fail("publish")
        await super().publish(key, root, lifetime_s=lifetime_s)
        self.published += 1
        self._fail("after publish")

    async def unpin(self, cid: Cid) -> None:
        self._fail("unpin")
        await super().unpin(cid)
        self._fail("after unpin")

    def _fail(self, where: str) -> None:
        if self.fails_at == where:
            self.fails_at = None
            raise TransientStorageError(f"made to fail at {where}")


class Mirrored:
    """A dataset in memory and its mirror."""

    def __init__(self, node: CountingNode, index: IpfsTables) -> None:
        self.node, self.index = node, index
        self.chain = ChainBuilder(dataset_id(int.from_bytes(os.urandom(8), "big")))
        self.dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
        self.target = IpfsTarget("kubo+http://unused", f"odf-{self.chain.id.multibase}")
        self.state = IpfsMirrorState()
        self.now = NOW
        self._stored = 0

    async def store(self) -> None:
        """What the chain has come to, into the dataset."""
        objects = self.dataset.writable_objects()
        await objects.put_many({data_key(name): data for name, data in self.chain.slices.items()})
        await self.dataset.append(self.chain.blocks[self._stored :], expected_head=await self.dataset.head())
        self._stored = len(self.chain.blocks)

    async def append(self, content: bytes) -> None:
        self.chain.data(content)
        await self.store()

    async def run(self) -> Cid:
        async def keep(state: IpfsMirrorState) -> None:
            self.state = IpfsMirrorState.from_plain(state.to_plain())

        state = await publish_to_ipfs(
            self.chain.id, self.dataset, self.target, self.state,
            node=self.node, index=self.index, keep=keep, now=self.now,
        )  # fmt: skip
        assert state == self.state
        assert state.root is not None
        return state.root


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def mirrored(ipfs_node: NodeAddresses, session: aiohttp.ClientSession, tmp_path: Path) -> AsyncIterator[Mirrored]:
    rpc = KuboRpc(session, ipfs_node.rpc, patience=Patience(connect_s=5, silence_s=3, work_s=30))
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        made = Mirrored(CountingNode(rpc), catalog.ipfs)
        await made.append(os.urandom(300_000))
        yield made


async def test_a_mirrored_dataset_is_kept_and_its_name_leads_to_it(mirrored: Mirrored) -> None:
    root = await mirrored.run()
    assert await mirrored.node.has_pinned(root)
    assert mirrored.state.head == mirrored.chain.head
    assert mirrored.state.replaced == ()
    name = await mirrored.node.name_of_key(mirrored.target.key)
    assert await mirrored.node.resolve(name) == f"/ipfs/{root}"


async def test_running_again_sends_and_publishes_nothing(mirrored: Mirrored) -> None:
    root = await mirrored.run()
    assert await mirrored.run() == root
    assert (len(mirrored.node.sent), mirrored.node.published) == (1, 1)


async def test_only_what_is_new_is_sent_and_what_it_replaced_is_kept_no_longer(mirrored: Mirrored) -> None:
    first = await mirrored.run()
    await mirrored.append(b"a small slice")
    second = await mirrored.run()
    assert mirrored.node.sent[0] > 300_000
    assert mirrored.node.sent[1] < 3_000
    assert await mirrored.node.has_pinned(second)
    assert not await mirrored.node.has_pinned(first)


async def test_what_lies_in_ipfs_is_the_dataset_byte_for_byte(
    mirrored: Mirrored, session: aiohttp.ClientSession, ipfs_node: NodeAddresses
) -> None:
    await mirrored.run()
    await mirrored.append(os.urandom(600_000))
    root = await mirrored.run()
    for url in (f"ipfs://{root}/", f"ipns://{mirrored.state.name}/"):
        for address in filter(None, (ipfs_node.gateway, ipfs_node.rpc)):
            there = open_dataset(url, Connection(session, ipfs=IpfsAccess(address)))
            assert await there.head() == mirrored.chain.head
            for block in mirrored.chain.blocks:
                assert await there.read_raw_block(block.hash) == block.raw
            for name, content in mirrored.chain.slices.items():
                assert await there.objects.read(data_key(name)) == content


async def test_a_chain_that_was_replaced_is_mirrored_as_it_is_now(mirrored: Mirrored) -> None:
    await mirrored.run()
    rival = mirrored.chain.fork(1)
    rival.info("another history")
    await mirrored.dataset.append(rival.blocks[1:], expected_head=mirrored.chain.head, force=True)
    await mirrored.run()
    assert mirrored.state.head == rival.head


async def test_a_record_is_published_anew_before_it_ends(mirrored: Mirrored) -> None:
    await mirrored.run()
    mirrored.now += IPNS_RENEWAL_S - 1
    await mirrored.run()
    assert mirrored.node.published == 1
    mirrored.now += 1
    await mirrored.run()
    assert (mirrored.node.published, len(mirrored.node.sent)) == (2, 1)


@pytest.mark.parametrize("step", ["import", "after import", "publish", "after publish", "unpin", "after unpin"])
async def test_a_run_that_was_cut_is_finished_by_the_next(mirrored: Mirrored, step: str) -> None:
    roots = [await mirrored.run()]
    await mirrored.append(b"second")
    mirrored.node.fails_at = step
    with pytest.raises(TransientStorageError):
        await mirrored.run()
    roots += mirrored.state.replaced
    await mirrored.append(b"third")
    root = await mirrored.run()
    assert [await mirrored.node.has_pinned(old) for old in set(roots) - {root}] == [False] * len(set(roots) - {root})
    assert await mirrored.node.has_pinned(root)
    assert mirrored.state.replaced == ()
    assert await mirrored.node.resolve(await mirrored.node.name_of_key(mirrored.target.key)) == f"/ipfs/{root}"


async def test_a_node_that_keeps_the_tree_no_longer_is_sent_all_of_it(mirrored: Mirrored) -> None:
    root = await mirrored.run()
    await mirrored.node.unpin(root)
    assert await mirrored.run() == root
    await mirrored.node.unpin(root)
    await mirrored.append(b"second")
    await mirrored.run()
    assert [sent > 300_000 for sent in mirrored.node.sent] == [True, True, True]


async def test_a_node_that_lost_blocks_of_a_tree_it_keeps_is_sent_all_of_it(mirrored: Mirrored) -> None:
    await mirrored.run()
    await mirrored.append(b"second")
    importing = mirrored.node.import_car

    async def incomplete(pieces: AsyncIterator[bytes], *, roots: Sequence[Cid]) -> None:
        mirrored.node.import_car = importing  # type: ignore[method-assign]
        raise OdfError("the IPFS node failed at dag/import: block was not found locally")

    mirrored.node.import_car = incomplete  # type: ignore[method-assign]
    root = await mirrored.run()
    assert mirrored.node.sent[-1] > 300_000
    assert await mirrored.node.has_pinned(root)


async def test_the_index_may_be_lost(mirrored: Mirrored, tmp_path: Path) -> None:
    await mirrored.run()
    await mirrored.append(b"second")
    async with open_catalog(sqlite_url(tmp_path / "another.sqlite")) as catalog:
        mirrored.index = catalog.ipfs
        await mirrored.run()
    assert mirrored.node.sent[-1] < 3_000


async def test_a_damaged_dataset_is_not_mirrored_and_the_mirror_stays(mirrored: Mirrored) -> None:
    root = await mirrored.run()
    mirrored.chain.data(b"to be damaged")
    await mirrored.store()
    objects = mirrored.dataset.objects
    assert isinstance(objects, MemoryObjectStore)
    (key,) = [key for key, data in objects.objects.items() if data == b"to be damaged"]
    objects.objects[key] = b"damaged"
    with pytest.raises(HashMismatch):
        await mirrored.run()
    del objects.objects[key]
    with pytest.raises(ObjectNotFound):
        await mirrored.run()
    assert mirrored.state.root == root
    assert await mirrored.node.has_pinned(root)


async def test_a_dataset_without_a_head_cannot_be_mirrored(mirrored: Mirrored) -> None:
    mirrored.dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    mirrored.chain = ChainBuilder(dataset_id(99))
    with pytest.raises(RefNotFound):
        await mirrored.run()


def test_a_target_has_a_key_of_its_own_for_each_dataset_unless_one_is_named() -> None:
    one, two = dataset_id(1), dataset_id(2)
    address = "kubo+http://127.0.0.1:5001"
    assert parse_ipfs_target(address, one) == IpfsTarget(address, f"odf-{one.multibase}")
    assert parse_ipfs_target(address, one).key != parse_ipfs_target(address, two).key
    assert parse_ipfs_target(f"{address}?key=mine&service=pins", one) == IpfsTarget(address, "mine", "pins")
    with pytest.raises(MalformedIdentifier):
        parse_ipfs_target(f"{address}?kye=mine", one)


def test_a_state_survives_being_written_down() -> None:
    assert IpfsMirrorState.from_plain(IpfsMirrorState().to_plain()) == IpfsMirrorState()
    assert IpfsMirrorState.from_plain({}) == IpfsMirrorState()


async def test_an_independent_node_that_knows_the_cid_alone_gets_the_same_bytes(
    mirrored: Mirrored, ipfs_node: NodeAddresses, tmp_path: Path
) -> None:
    folder = await fetched_by_kubo(ipfs_node, await mirrored.run(), tmp_path)
    fetched = Dataset(LocalObjectStore(folder), LocalRefStore(folder))
    assert await fetched.head() == mirrored.chain.head
    for block in mirrored.chain.blocks:
        assert await fetched.read_raw_block(block.hash) == block.raw
    for name, content in mirrored.chain.slices.items():
        assert await fetched.objects.read(data_key(name)) == content
