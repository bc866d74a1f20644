"""What a mirror is sent: all that is new in a tree, and hardly anything else."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import HashMismatch, ObjectNotFound
from opendatafabric.ipfs.car import read_car
from opendatafabric.ipfs.cid import Block, Cid, Codec
from opendatafabric.ipfs.unixfs import KUBO_RAW_LEAVES, Profile
from opendatafabric.ipfs.walk import walk_dag
from storage.ipfs.blocks import walked
from storage.ipfs.changes import TreeChanges, car_pieces, file_blocks
from storage.ipfs.tree import BlockTree
from storage.memory import MemoryObjectStore
from tests.storage.ipfs.stored_trees import MemoryBlocks
from tests.suites.object_store import key_of

SHARDED = Profile("for tests", KUBO_RAW_LEAVES.chunk_bytes, KUBO_RAW_LEAVES.links_max, folder_bytes_max=600)


class Versions:
    """Two versions of a tree over one store of objects."""

    def __init__(self, old: dict[str, bytes] | None, new: dict[str, bytes], profile: Profile = SHARDED) -> None:
        self.objects = MemoryObjectStore()
        self.objects.objects |= new
        self.old, self.new = MemoryBlocks(), MemoryBlocks()
        self.old_root = None if old is None else self.old.store(old | {"refs/head": b"old"}, profile)
        self.root = self.new.store(new | {"refs/head": b"new"}, profile)
        self.folders = MemoryBlocks({cid: data for cid, data in self.new.blocks.items() if self._is_node(cid, data)})

    @staticmethod
    def _is_node(cid: Cid, data: bytes) -> bool:
        return cid.codec is Codec.DAG_PB or data == b"new"

    async def changes(self) -> list[Block]:
        before = None if self.old_root is None else BlockTree(self.old, self._old_root)
        found = TreeChanges(self.objects, self.folders.block, before)
        return [block async for block in found.blocks(self.root)]

    async def _old_root(self) -> Cid:
        assert self.old_root is not None
        return self.old_root


def files(*contents: int, folder: str = "data") -> dict[str, bytes]:
    return {key_of(b"%d" % i).replace("data", folder): b"%d" % i for i in contents}


numbers = st.sets(st.integers(0, 60), max_size=40)


@given(old=st.none() | numbers, new=numbers, blocks=numbers, profile=st.sampled_from([SHARDED, KUBO_RAW_LEAVES]))
async def test_the_earlier_tree_and_the_changes_are_the_whole_tree(
    old: set[int] | None, new: set[int], blocks: set[int], profile: Profile
) -> None:
    before = None if old is None else files(*old) | files(*old, folder="blocks")
    versions = Versions(before, files(*new) | files(*blocks, folder="blocks"), profile)
    changed = await versions.changes()
    assert changed[0].cid == versions.root
    assert all(block.cid.matches(block.data) for block in changed)
    both = MemoryBlocks(versions.old.blocks | {block.cid: block.data for block in changed})
    whole = {block.cid async for block in walked(walk_dag(versions.root), both.block)}
    assert whole == {block.cid async for block in walked(walk_dag(versions.root), versions.new.block)}


@given(old=numbers, added=numbers, profile=st.sampled_from([SHARDED, KUBO_RAW_LEAVES]))
async def test_no_file_is_sent_again_also_when_its_folder_becomes_one_of_shards(
    old: set[int], added: set[int], profile: Profile
) -> None:
    versions = Versions(files(*old), files(*old, *added), profile)
    sent = [block.data for block in await versions.changes() if block.cid.codec is Codec.RAW]
    assert sorted(sent) == sorted([b"new", *(b"%d" % i for i in added - old)])


async def test_an_equal_tree_costs_its_root_and_its_head() -> None:
    versions = Versions(files(1, 2), files(1, 2))
    assert len(await versions.changes()) == 3


async def test_of_a_large_folder_only_the_shards_on_the_way_are_sent() -> None:
    versions = Versions(files(*range(3000)), files(*range(3001)))
    assert len(await versions.changes()) < 10
    assert len(versions.old.asked) < 10


@pytest.mark.parametrize("size", [0, 1, 262_144, 262_145, 2_000_000])
async def test_a_file_is_cut_into_its_blocks(size: int) -> None:
    data, made = os.urandom(size), MemoryBlocks()
    root = made.store({"data/x": data}, KUBO_RAW_LEAVES)
    cid = await BlockTree(made, lambda: _known(root)).find(("data", "x"))
    objects = MemoryObjectStore()
    objects.objects[key_of(data)] = data
    blocks = [block async for block in file_blocks(objects, key_of(data), cid)]
    assert blocks[-1].cid == cid
    assert {block.cid: block.data for block in blocks}.items() <= made.blocks.items()


async def _known(root: Cid) -> Cid:
    return root


async def test_an_object_that_is_damaged_or_gone_is_noticed() -> None:
    versions = Versions(None, files(1, 2))
    (first, second) = versions.objects.objects
    versions.objects.objects[first] = b"damaged"
    with pytest.raises(HashMismatch, match=first):
        await versions.changes()
    del versions.objects.objects[first]
    del versions.objects.objects[second]
    with pytest.raises(ObjectNotFound):
        await versions.changes()


async def test_a_car_of_the_changes_is_one_that_others_read() -> None:
    versions = Versions(None, files(1, 2, 3))

    async def changed() -> object:
        for block in await versions.changes():
            yield block

    data = b"".join([piece async for piece in car_pieces(versions.root, changed())])  # type: ignore[arg-type]
    assert read_car(data) == ((versions.root,), await versions.changes())
