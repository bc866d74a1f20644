"""A dataset as a folder of IPFS: the root that other implementations give, and what a later head costs."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import aleph_cid
import pytest

from catalog.catalog import open_catalog
from catalog.ipfs import TREES_KEPT, IpfsTables
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import HashMismatch, ObjectNotFound
from opendatafabric.ipfs.cid import Cid, cid_of_object
from opendatafabric.ipfs.walk import list_folder, resolve, walk_dag
from opendatafabric.layout import data_key
from storage.dataset import Dataset
from storage.ipfs.blocks import read_place, run_walk, walked
from storage.ipfs.importing import import_bytes, import_object
from storage.ipfs.index import PublishedTree
from storage.ipfs.trees import publish_tree
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.storage.chains import ChainBuilder
from tests.vectors.load import FOLDER

pytestmark = pytest.mark.slow

DATASETS = sorted(path for path in (FOLDER / "datasets").iterdir() if (path / "data").is_dir())
EMPTY = "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354"
LARGE = hashlib.shake_128(b"odf").digest(700_000)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[IpfsTables]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        yield catalog.ipfs


class Published:
    """A dataset in memory with its chain, published as the test says."""

    def __init__(self, index: IpfsTables) -> None:
        self.index = index
        self.chain = ChainBuilder()
        self.objects = MemoryObjectStore()
        self.dataset = Dataset(self.objects, MemoryRefStore())
        self._appended = 0

    async def append(self) -> None:
        for content_hash, content in self.chain.slices.items():
            await self.objects.put(data_key(content_hash), content)
        await self.dataset.append(self.chain.blocks[self._appended :], expected_head=await self.dataset.head())
        self._appended = len(self.chain.blocks)

    async def publish(self) -> PublishedTree:
        found = await publish_tree(self.chain.id, self.dataset, self.index)
        assert found is not None
        return found

    async def read(self, cid: Cid) -> bytes:
        places = await self.index.find_block(cid)
        if not places:
            raise ObjectNotFound(str(cid))
        block = await read_place(places[0], cid, self.objects)
        cid.check(block)
        return block

    async def file(self, root: PublishedTree, path: str) -> bytes:
        cid, _ = await run_walk(resolve(root.root.cid, path.split("/")), self.read)
        return b"".join([block.data async for block in walked(walk_dag(cid), self.read) if block.cid.codec == 0x55])


@pytest.fixture
async def published(index: IpfsTables) -> Published:
    made = Published(index)
    made.chain.info("for tests")
    made.chain.data(b"a small slice")
    made.chain.data(LARGE)
    await made.append()
    return made


@pytest.mark.parametrize("folder", DATASETS, ids=lambda path: path.name)
async def test_every_folder_is_the_one_that_another_implementation_makes_of_it(index: IpfsTables, folder: Path) -> None:
    dataset = Dataset(LocalObjectStore(folder), LocalRefStore(folder))
    tree = await publish_tree((await dataset.seed()).dataset_id, dataset, index)
    assert tree is not None

    async def read(cid: Cid) -> bytes:
        return await read_place((await index.find_block(cid))[0], cid, dataset.objects)

    entries, _ = await run_walk(list_folder(tree.root.cid), read)
    assert sorted(entries) == ["blocks", "checkpoints", "data", "refs"]
    for name, link in entries.items():
        there = (folder / name).is_dir()
        assert link.cid.text == (aleph_cid.hash_folder(str(folder / name)) if there else EMPTY)


async def test_the_root_is_the_one_that_another_implementation_gives_the_whole_folder(
    index: IpfsTables, tmp_path: Path
) -> None:
    folder = next(path.parent for path in sorted((FOLDER / "datasets-spark").rglob("checkpoints")))
    dataset = Dataset(LocalObjectStore(folder), LocalRefStore(folder))
    tree = await publish_tree((await dataset.seed()).dataset_id, dataset, index)
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("info"))
    assert tree is not None
    assert tree.root.cid.text == aleph_cid.hash_folder(str(tmp_path / "copy"))


async def test_every_file_of_the_dataset_is_read_back_by_its_path(published: Published) -> None:
    tree = await published.publish()
    assert await published.file(tree, "refs/head") == str(published.chain.head).encode()
    for block in published.chain.blocks:
        assert await published.file(tree, f"blocks/{block.hash}") == block.raw
    for content_hash, content in published.chain.slices.items():
        assert await published.file(tree, f"data/{content_hash}") == content


async def test_empty_folders_are_kept_and_what_is_local_is_left_out(published: Published) -> None:
    tree = await published.publish()
    entries, _ = await run_walk(list_folder(tree.root.cid), published.read)
    assert sorted(entries) == ["blocks", "checkpoints", "data", "refs"]
    assert await run_walk(list_folder(entries["checkpoints"].cid), published.read) != {}


async def test_every_object_is_found_by_the_cid_of_its_physical_hash(published: Published) -> None:
    await published.publish()
    for content_hash, content in published.chain.slices.items():
        assert await published.read(cid_of_object(content_hash)) == content


async def test_a_later_head_gives_the_tree_that_publishing_anew_would(published: Published, tmp_path: Path) -> None:
    await published.publish()
    published.chain.data(b"more")
    await published.append()
    later = await published.publish()
    async with open_catalog(sqlite_url(tmp_path / "other.sqlite")) as other:
        assert await publish_tree(published.chain.id, published.dataset, other.ipfs) == later


async def test_a_later_head_reads_only_what_is_new(published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    await published.publish()
    published.chain.data(b"more")
    await published.append()
    read: list[str] = []
    stream = published.objects.stream

    def noted(key: str, *rest: object) -> object:
        read.append(key)
        return stream(key, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(published.objects, "stream", noted)
    await published.publish()
    assert read == [data_key(list(published.chain.slices)[-1])]


async def test_publishing_the_same_head_again_changes_nothing(published: Published) -> None:
    first = await published.publish()
    again = await published.publish()
    assert (again.head, again.root.cid, again.root.tsize) == (first.head, first.root.cid, first.root.tsize)


async def test_a_head_that_went_back_forgets_what_is_no_longer_on_the_chain(published: Published) -> None:
    await published.publish()
    await published.dataset.append(published.chain.blocks[:2], expected_head=published.chain.head, force=True)
    tree = await published.publish()
    entries, _ = await run_walk(list_folder(tree.root.cid), published.read)
    blocks, _ = await run_walk(list_folder(entries["blocks"].cid), published.read)
    assert sorted(blocks) == sorted(str(block.hash) for block in published.chain.blocks[:2])
    with pytest.raises(ObjectNotFound):
        await published.read(cid_of_object(next(iter(published.chain.slices))))


async def test_a_few_earlier_trees_can_still_be_read_and_older_ones_not(published: Published) -> None:
    trees = [await published.publish()]
    for number in range(TREES_KEPT):
        published.chain.info(f"change {number}")
        await published.append()
        trees.append(await published.publish())
    assert await published.file(trees[1], "refs/head") == str(trees[1].head).encode()
    with pytest.raises(ObjectNotFound):
        await published.read(trees[0].root.cid)


async def test_a_tree_that_was_extended_often_has_the_blocks_of_its_latest_and_kept_roots_alone(
    published: Published, tmp_path: Path
) -> None:
    for number in range(TREES_KEPT + 3):
        published.chain.info(f"change {number}")
        await published.append()
        await published.publish()
    with sqlite3.connect(tmp_path / "catalog.sqlite") as database:
        (in_use,) = database.execute("SELECT count(*) FROM ipfs_nodes WHERE replaced_by IS NULL").fetchone()
        (kept,) = database.execute("SELECT count(*) FROM ipfs_nodes").fetchone()
    assert in_use == 6  # five folders and refs/head
    assert kept <= in_use + 4 * (TREES_KEPT - 1)


async def test_a_forgotten_dataset_has_no_blocks(published: Published) -> None:
    tree = await published.publish()
    await published.index.forget(published.chain.id)
    assert await published.index.find_block(tree.root.cid) == []
    assert await published.index.find_block(cid_of_object(published.chain.head)) == []
    assert await published.index.published_datasets() == []


async def test_a_dataset_without_a_head_has_no_tree(index: IpfsTables) -> None:
    empty = Dataset(MemoryObjectStore(), MemoryRefStore())
    assert await publish_tree(ChainBuilder().id, empty, index) is None


async def test_a_damaged_object_is_not_published(published: Published) -> None:
    key = data_key(list(published.chain.slices)[1])
    damaged = MemoryObjectStore()
    async for info in published.objects.list(""):
        await damaged.put(info.key, await published.objects.read(info.key))
    damaged.objects[key] = b"x" + LARGE[1:]  # behind its back
    with pytest.raises(HashMismatch, match=key):
        await import_object(damaged, key)


async def test_an_object_is_imported_alike_from_a_store_and_from_memory(published: Published) -> None:
    for content_hash, content in published.chain.slices.items():
        imported = await import_object(published.objects, data_key(content_hash))
        assert imported == import_bytes(content_hash, content)


async def test_a_block_that_rotted_is_not_given_out(published: Published) -> None:
    await published.publish()
    content_hash = list(published.chain.slices)[1]
    imported = import_bytes(content_hash, LARGE)
    leaf = imported.blocks[1]
    place = (await published.index.find_block(leaf.cid))[0]
    published.objects.objects[place.key] = bytes(len(LARGE))
    with pytest.raises(HashMismatch, match="byte 262144"):
        await read_place(place, leaf.cid, published.objects)
