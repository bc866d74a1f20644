"""A dataset read from a tree of blocks: the reader's contract, and what hostile trees may try."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import (
    HashMismatch,
    LimitExceeded,
    MalformedDag,
    MalformedIdentifier,
    ObjectNotFound,
    UnsupportedOperation,
)
from opendatafabric.ipfs.cid import Cid, Codec, cid_of_block
from opendatafabric.ipfs.dag_pb import Link, encode_node
from opendatafabric.ipfs.protobuf import number_field
from opendatafabric.ipfs.unixfs import Kind, Profile, Tree, emit_file_node, import_file
from opendatafabric.limits import DAG_DEPTH_MAX, IPFS_CACHED_BYTES_MAX
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.ipfs.reader import TreeObjectReader, TreeRefStore
from storage.ipfs.tree import BlockTree
from storage.protocols import ObjectReader
from storage.values import ByteRange
from tests.storage.chains import chain
from tests.storage.ipfs.stored_trees import MemoryBlocks
from tests.suites.object_store import ObjectReaderSuite, key_of, read_all

SMALL = Profile("for tests", chunk_bytes=7, links_max=3, folder_bytes_max=600)


class StoredTree:
    """Files that become a tree when somebody looks."""

    def __init__(self, files: dict[str, bytes] | None = None, profile: Profile = SMALL) -> None:
        self.files = files or {}
        self.blocks = MemoryBlocks()
        self.tree = BlockTree(self.blocks, self.root)
        self.profile = profile

    async def root(self) -> Cid:
        return self.blocks.store(self.files, self.profile)

    @property
    def objects(self) -> TreeObjectReader:
        return TreeObjectReader(self.tree)


class TestTreeObjects(ObjectReaderSuite):
    profile = Profile("for tests", chunk_bytes=256 * 1024, links_max=3, folder_bytes_max=600)

    @pytest.fixture
    def store(self) -> TreeObjectReader:
        self.stored = StoredTree(profile=self.profile)
        return self.stored.objects

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        self.stored.files[key] = data


class TestTreeObjectsInLargeBlocks(TestTreeObjects):
    profile = Profile("for tests", chunk_bytes=1024 * 1024, links_max=174, folder_bytes_max=256 * 1024)


@given(data=st.binary(max_size=300), start=st.integers(0, 320), length=st.integers(0, 320))
async def test_every_range_of_a_file_of_many_levels_is_the_slice_of_its_bytes(
    data: bytes, start: int, length: int
) -> None:
    stored = StoredTree({key_of(data): data})
    assert (
        await read_all(stored.objects, key_of(data), ByteRange(start, start + length)) == data[start : start + length]
    )
    assert await read_all(stored.objects, key_of(data), ByteRange(start)) == data[start:]
    assert (await stored.objects.stat(key_of(data))).size == len(data)


async def test_a_part_of_a_file_costs_its_blocks_alone() -> None:
    data = os.urandom(7 * 27)
    stored = StoredTree({key_of(data): data})
    await stored.tree.find(key_of(data).split("/"))
    stored.blocks.asked.clear()
    await read_all(stored.objects, key_of(data), ByteRange(70, 77))
    assert len(stored.blocks.asked) == 4


@pytest.mark.parametrize("count", [1, 6, 60, 400])
async def test_objects_are_found_in_folders_of_any_size(count: int) -> None:
    files = {key_of(b"%d" % i): b"%d" % i for i in range(count)}
    objects = StoredTree(files).objects
    for key, data in files.items():
        assert await objects.read(key) == data
    with pytest.raises(ObjectNotFound):
        await objects.read(key_of(b"absent"))


async def test_folders_are_read_once() -> None:
    files = {key_of(b"%d" % i): b"%d" % i for i in range(300)}
    stored = StoredTree(files)
    for key in files:
        await stored.objects.read(key)
    folders = [cid for cid in stored.blocks.asked if cid.codec is Codec.DAG_PB]
    assert len(folders) == len(set(folders))
    assert sum(len(stored.blocks.blocks[cid]) for cid in folders) < IPFS_CACHED_BYTES_MAX


async def test_a_block_that_was_replaced_is_noticed() -> None:
    data = os.urandom(100)
    stored = StoredTree({key_of(data): data})
    await stored.objects.stat(key_of(data))
    for cid in stored.blocks.blocks:
        if cid.codec is Codec.RAW:
            stored.blocks.blocks[cid] = b"another"
    with pytest.raises(HashMismatch):
        await stored.objects.read(key_of(data))


async def test_a_missing_block_makes_an_object_incomplete() -> None:
    data = os.urandom(100)
    stored = StoredTree({key_of(data): data})
    await stored.objects.stat(key_of(data))
    del stored.blocks.blocks[cid_of_block(data[7:14])]
    with pytest.raises(ObjectNotFound, match="not whole"):
        await stored.objects.read(key_of(data))


def _over(blocks: MemoryBlocks, file: Tree, key: str) -> TreeObjectReader:
    """A tree whose file ``key`` is ``file``."""
    folder, _, name = key.partition("/")
    inner = encode_node([Link(file.cid, name.encode(), file.tsize)], number_field(1, Kind.DIRECTORY))
    inner_cid = cid_of_block(inner, Codec.DAG_PB)
    outer = encode_node([Link(inner_cid, folder.encode(), 0)], number_field(1, Kind.DIRECTORY))
    root = cid_of_block(outer, Codec.DAG_PB)
    blocks.blocks |= {inner_cid: inner, root: outer}

    async def find_root() -> Cid:
        return root

    return TreeObjectReader(BlockTree(blocks, find_root))


async def test_a_node_that_lies_about_sizes_is_refused() -> None:
    blocks = MemoryBlocks()
    leaf = import_file(b"seven b", blocks.take)
    liar = emit_file_node([Tree(leaf.cid, 9, 9), Tree(leaf.cid, 7, 7)], blocks.take)
    with pytest.raises(MalformedDag):
        await _over(blocks, liar, key_of(b"x")).read(key_of(b"x"))


async def test_a_tower_of_nodes_is_too_deep() -> None:
    blocks = MemoryBlocks()
    tower = import_file(b"top", blocks.take)
    for _ in range(DAG_DEPTH_MAX + 1):
        tower = emit_file_node([tower], blocks.take)
    with pytest.raises(LimitExceeded, match="deep"):
        await _over(blocks, tower, key_of(b"x")).read(key_of(b"x"))


async def test_a_tree_that_multiplies_emptiness_ends_soon() -> None:
    blocks = MemoryBlocks()
    bomb = import_file(b"", blocks.take)
    for _ in range(7):
        bomb = emit_file_node([bomb] * 174, blocks.take)
    assert await _over(blocks, bomb, key_of(b"x")).read(key_of(b"x")) == b""
    assert len(blocks.asked) < 10


async def test_a_tree_that_multiplies_bytes_ends_at_the_limit() -> None:
    blocks = MemoryBlocks()
    bomb = import_file(bytes(1000), blocks.take)
    for _ in range(6):
        bomb = emit_file_node([bomb] * 174, blocks.take)
    with pytest.raises(LimitExceeded):
        await _over(blocks, bomb, key_of(b"x")).read(key_of(b"x"), size_max=100_000)
    assert len(blocks.asked) < 200


async def test_a_folder_where_an_object_should_be_is_no_object() -> None:
    blocks = MemoryBlocks()
    root = blocks.store({"data/x": b"x"})
    objects = _over(blocks, Tree(root, 0, 0), key_of(b"x"))
    with pytest.raises(MalformedDag):
        await objects.read(key_of(b"x"))
    with pytest.raises(MalformedDag):
        await objects.stat(key_of(b"x"))


async def test_a_dataset_is_walked_from_its_root() -> None:
    builder = chain(["a", "b"])
    files = {f"blocks/{block.hash}": block.raw for block in builder.blocks}
    stored = StoredTree(files | {"refs/head": str(builder.head).encode()})
    refs = TreeRefStore(stored.tree)
    dataset = Dataset(stored.objects, refs)
    assert await dataset.head() == builder.head
    assert await refs.list() == {"head": builder.head}
    assert [block async for batch in dataset.walk(builder.head) for block in batch] == builder.blocks[::-1]
    with pytest.raises(UnsupportedOperation):
        await dataset.append([builder.info("c")], expected_head=builder.blocks[-2].hash)
    with pytest.raises(UnsupportedOperation):
        await refs.compare_and_swap("head", expected=builder.head, new=None)


async def test_a_tree_without_a_head_has_none() -> None:
    refs = TreeRefStore(StoredTree({"blocks/x": b"x"}).tree)
    assert await refs.read("head") is None
    assert await refs.list() == {}


@pytest.mark.parametrize("text", [b"", b"no hash", str(physical_hash(b"x")).encode() + b"\n", b"f" * 100_000])
async def test_a_head_that_is_no_hash_is_refused(text: bytes) -> None:
    with pytest.raises((MalformedIdentifier, LimitExceeded)):
        await TreeRefStore(StoredTree({"refs/head": text}, TestTreeObjects.profile).tree).read("head")
