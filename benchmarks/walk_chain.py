"""How long does it take to walk a long chain: read, hash and read the header of every block? (goal P10)

The blocks are real ones, linked, in one folder. The sum of parts is the least anybody could do for the same: read the
files one after another through the open folder, hash each, read each header; nothing is checked or linked.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.harness import Goal, Question, Way, main
from opendatafabric.codec.block_codec import encode_block, read_block_header
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import AddData, DatasetKind, Seed
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore


def small_blocks(count: int) -> Iterator[tuple[Multihash, bytes]]:
    """A chain of ``count`` blocks of about 330 bytes each, oldest first."""
    slice_hash = physical_hash(b"")
    logical_hash = Multihash(HashCodec.ARROW0_SHA3_256, slice_hash.digest)
    head: Multihash | None = None
    for number in range(count):
        event: Seed | AddData = Seed(new_dataset_id(bytes(31) + b"\1"), DatasetKind.ROOT)
        if number:
            data = DataSlice(logical_hash, slice_hash, OffsetInterval(number - 1, number - 1), 1)
            event = AddData(prev_offset=number - 2 if number > 1 else None, new_data=data)
        block = encode_block(MetadataBlock(Instant(2024, 1, number % 86_400), head, number, event))
        head = block.hash
        yield block.hash, block.raw


def make_chain(root: Path, count: int) -> Multihash:
    """The same as files under ``root``; the head."""
    (root / "blocks").mkdir(parents=True)
    for block_hash, raw in small_blocks(count):
        (root / "blocks" / str(block_hash)).write_bytes(raw)
    return block_hash


def parts_of(root: Path) -> Callable[[], None]:
    """Read, hash and read the header of every file, as plainly as possible."""
    names = sorted(os.listdir(root / "blocks"))

    def run() -> None:
        folder = os.open(root / "blocks", os.O_RDONLY)
        for name in names:
            descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
            raw = os.read(descriptor, 65_536)
            os.close(descriptor)
            physical_hash(raw)
            read_block_header(raw)
        os.close(folder)

    return run


async def count_headers(dataset: Dataset, head: Multihash, count: int) -> None:
    """Walk the whole chain and count."""
    found = 0
    async for batch in dataset.walk_headers(head):
        found += len(batch)
    assert found == count


async def count_blocks(dataset: Dataset, head: Multihash, count: int) -> None:
    """The same with every event decoded."""
    found = 0
    async for batch in dataset.walk(head):
        found += len(batch)
    assert found == count


def ask(quick: bool) -> Question:
    count = 10_000 if quick else 100_000
    root = Path(tempfile.mkdtemp(prefix="walk-chain-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    head = make_chain(root, count)
    dataset = Dataset(LocalObjectStore(root), LocalRefStore(root))
    units = count / 100_000
    return Question(
        "Walking a chain of small blocks in a local folder",
        "100k blocks",
        [
            Way("sum of parts", parts_of(root), units),
            Way("walk_headers", lambda: asyncio.run(count_headers(dataset, head, count)), units),
            Way("walk, decoded", lambda: asyncio.run(count_blocks(dataset, head, count)), units),
        ],
        [Goal("P10", "walk + hash + header, to its parts", "walk_headers", "sum of parts", 2.5, False, "cpu")],
    )


if __name__ == "__main__":
    main(ask)
