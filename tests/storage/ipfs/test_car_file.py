"""A dataset in a CAR file: read from its root, every block proved, and refused when it is not whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from opendatafabric.errors import (
    HashMismatch,
    LimitExceeded,
    MalformedDag,
    NotFound,
    StorageError,
    UnsupportedOperation,
)
from opendatafabric.ipfs.car import write_car
from opendatafabric.ipfs.cid import Block, Cid, cid_of_block
from opendatafabric.ipfs.ipns import IpnsName
from storage.ipfs.sources import CarBlocks
from storage.open import open_dataset
from tests.storage.chains import chain
from tests.storage.ipfs.stored_trees import MemoryBlocks

BUILDER = chain(["a", "b"])


def write(path: Path, roots: list[Cid], blocks: MemoryBlocks) -> Path:
    path.write_bytes(b"".join(write_car(roots, (Block(cid, data) for cid, data in blocks.blocks.items()))))
    return path


def rewrite(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))


@pytest.fixture
def blocks() -> MemoryBlocks:
    return MemoryBlocks()


@pytest.fixture
def root(blocks: MemoryBlocks) -> Cid:
    files = {f"blocks/{block.hash}": block.raw for block in BUILDER.blocks}
    return blocks.store(files | {"refs/head": str(BUILDER.head).encode(), "data/x": os.urandom(2_000_000)})


@pytest.fixture
def file(tmp_path: Path, root: Cid, blocks: MemoryBlocks) -> Path:
    return write(tmp_path / "weather.car", [root], blocks)


async def test_every_block_is_found_where_it_lies(file: Path, root: Cid, blocks: MemoryBlocks) -> None:
    source = CarBlocks(file)
    assert await source.root() == root
    for cid, data in blocks.blocks.items():
        assert await source.block(cid) == data
    with pytest.raises(NotFound):
        await source.block(cid_of_block(b"not there"))
    with pytest.raises(UnsupportedOperation):
        await source.record(IpnsName(bytes(32)))


async def test_a_dataset_is_read_from_an_archive(file: Path) -> None:
    for address in (str(file), file.as_uri()):
        dataset = open_dataset(address)
        assert await dataset.head() == BUILDER.head
        assert [block async for batch in dataset.walk(BUILDER.head) for block in batch] == BUILDER.blocks[::-1]


async def test_an_archive_that_changes_while_it_is_read_is_noticed(file: Path, root: Cid) -> None:
    source = CarBlocks(file)
    await source.root()
    rewrite(file, lambda data: bytes(len(data)))
    with pytest.raises(HashMismatch):
        await source.block(root)


@pytest.mark.parametrize("cut", [0, 5, 100, -1])
async def test_an_archive_that_was_cut_is_refused(file: Path, cut: int) -> None:
    rewrite(file, lambda data: data[:cut])
    with pytest.raises(MalformedDag):
        await CarBlocks(file).root()


async def test_an_archive_with_a_flipped_bit_is_refused(file: Path) -> None:
    rewrite(file, lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :])
    with pytest.raises((HashMismatch, MalformedDag, LimitExceeded)):
        await CarBlocks(file).root()


@pytest.mark.parametrize("count", [0, 2])
async def test_an_archive_must_have_one_root(tmp_path: Path, root: Cid, blocks: MemoryBlocks, count: int) -> None:
    with pytest.raises(MalformedDag, match="one root"):
        await CarBlocks(write(tmp_path / "x.car", [root] * count, blocks)).root()


async def test_an_archive_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        await CarBlocks(tmp_path / "absent.car").root()
