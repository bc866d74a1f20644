"""Does the incremental IPFS mirror of the 1,000th append cost what that of the 10th did?

A dataset that grows by one slice of 256 KiB at a time, mirrored after each append to a real node (js-ipfs, or the Kubo
that ``ODF_TEST_KUBO_API`` names). Around the 10th, the 100th and the 1,000th append: wall seconds of a run, CPU
seconds of this process, bytes and requests sent to the node, objects read from the store,
and blocks of folders read from the index. Reported as medians, and as ratios to the 10th.

The node walks the whole tree to pin it: how long that takes is its own affair (js-ipfs: a millisecond a block), so the
wall seconds have no goal.

Bytes grow by design: a folder is one block that lists its files, up to 256 KiB, so that the root is the one that
``ipfs add`` gives. From 2,497 files on it is a tree of which only the way to the new file is sent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.harness import RESULTS
from catalog.catalog import open_catalog
from catalog.ipfs import IpfsTables
from catalog.sqlite_files import sqlite_url
from opendatafabric.ipfs.cid import Cid
from opendatafabric.layout import data_key
from storage.dataset import Dataset
from storage.ipfs.index import Place
from storage.ipfs.node import IpfsNode
from storage.ipfs.rpc import KuboRpc, Line
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.values import ByteRange
from sync.ipfs_publish import IpfsMirrorState, parse_ipfs_target, publish_to_ipfs
from tests.ipfs.node import running_node
from tests.storage.chains import ChainBuilder, dataset_id

SLICE_BYTES = 256 * 1024
RATIO_MAX = 1.5
"""Seconds, and what is read: within the noise of two busy cores."""


@dataclass
class Cost:
    """One run of a mirror."""

    wall_s: float = 0
    cpu_s: float = 0
    bytes_sent: float = 0
    requests: float = 0
    objects_read: float = 0
    folder_blocks_read: float = 0


class CountingStore(LocalObjectStore):
    """Counts what is read."""

    cost = Cost()

    async def read(self, key: str, *, size_max: int = SLICE_BYTES) -> bytes:
        self.cost.objects_read += 1
        return await super().read(key, size_max=size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        self.cost.objects_read += 1
        async for piece in super().stream(key, byte_range):
            yield piece

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Any:
        found = await super().follow(key, next_key, count_max=count_max)
        self.cost.objects_read += len(found)
        return found


class CountingIndex(IpfsTables):
    """Counts which blocks are looked up."""

    cost = Cost()

    async def find_block(self, cid: Cid) -> list[Place]:
        self.cost.folder_blocks_read += 1
        return await super().find_block(cid)


class CountingNode(IpfsNode):
    """Counts requests and bytes."""

    def __init__(self, rpc: KuboRpc) -> None:
        super().__init__(rpc)
        self.cost = Cost()
        answer = rpc.answer

        async def counted(command: str, arguments: Any = (), *, works: bool = False) -> Line:
            self.cost.requests += 1
            return await answer(command, arguments, works=works)

        rpc.answer = counted  # type: ignore[method-assign]

    async def import_car(self, pieces: AsyncIterator[bytes], *, roots: Sequence[Cid]) -> None:
        async def counted() -> AsyncIterator[bytes]:
            async for piece in pieces:
                self.cost.bytes_sent += len(piece)
                yield piece

        self.cost.requests += 1
        await super().import_car(counted(), roots=roots)


class Mirrored:
    """A dataset in a folder, and its mirror."""

    def __init__(self, folder: Path, node: CountingNode, index: CountingIndex) -> None:
        self.chain = ChainBuilder(dataset_id(int.from_bytes(os.urandom(8), "big")))
        folder.mkdir()
        self.store, self.node, self.index = CountingStore(folder), node, index
        self.dataset = Dataset(self.store, LocalRefStore(folder))
        self.state = IpfsMirrorState()
        self._stored = 0

    async def append(self, count: int) -> None:
        """``count`` slices in one go."""
        contents = [os.urandom(SLICE_BYTES) for _ in range(count)]
        for content in contents:
            self.chain.data(content)
        await self.store.put_many({data_key(name): data for name, data in self.chain.slices.items()})
        self.chain.slices.clear()
        blocks = self.chain.blocks[self._stored :]
        await self.dataset.append(blocks, expected_head=await self.dataset.head())
        self._stored = len(self.chain.blocks)

    async def run(self) -> Cost:
        """Bring the mirror up to the head."""
        cost = self.store.cost = self.node.cost = self.index.cost = Cost()
        target = parse_ipfs_target("kubo+http://unused", self.chain.id)

        async def keep(state: IpfsMirrorState) -> None:
            self.state = state

        cost.wall_s, cost.cpu_s = -time.perf_counter(), -time.process_time()
        await publish_to_ipfs(
            self.chain.id, self.dataset, target, self.state,
            node=self.node, index=self.index, keep=keep, now=time.time(),
        )  # fmt: skip
        cost.wall_s += time.perf_counter()
        cost.cpu_s += time.process_time()
        return cost


async def measure(rpc: str, folder: Path, counts: Collection[int], rounds: int) -> dict[int, Cost]:
    """The median cost of runs around each count of appends; the datasets take turns."""
    async with aiohttp.ClientSession() as session, open_catalog(sqlite_url(folder / "catalog.sqlite")) as catalog:
        catalog.ipfs.__class__ = CountingIndex
        node = CountingNode(KuboRpc(session, rpc))
        datasets = {count: Mirrored(folder / str(count), node, catalog.ipfs) for count in counts}  # type: ignore[arg-type]
        for count, mirrored in datasets.items():
            await mirrored.append(count - 1)
            await mirrored.run()
        taken: dict[int, list[Cost]] = {count: [] for count in counts}
        for number in range(rounds):
            for count in counts if number % 2 == 0 else reversed(list(counts)):
                await datasets[count].append(1)
                taken[count].append(await datasets[count].run())
        return {count: _median(costs) for count, costs in taken.items()}


def _median(costs: Sequence[Cost]) -> Cost:
    names = [field.name for field in fields(Cost)]
    return Cost(**{name: statistics.median(getattr(cost, name) for cost in costs) for name in names})


@contextmanager
def node_for_tests(folder: Path) -> Iterator[str]:
    """The address of a node's RPC."""
    given = os.environ.get("ODF_TEST_KUBO_API")
    if given:
        yield f"kubo+{given}"
        return
    (folder / "node").mkdir()
    with running_node(folder / "node") as node:
        yield node.rpc


def verdicts(measured: dict[int, Cost]) -> list[dict[str, object]]:
    """Each figure of the largest dataset against that of the smallest."""
    first, last = measured[min(measured)], measured[max(measured)]
    found: list[dict[str, object]] = []
    for field in fields(Cost):
        ratio = getattr(last, field.name) / max(getattr(first, field.name), 1e-9)
        has_goal = field.name not in {"wall_s", "bytes_sent"}  # see above
        found.append({"figure": field.name, "ratio": ratio, "goal": RATIO_MAX if has_goal else None})
    return found


def show(measured: dict[int, Cost]) -> None:
    """The figures for people."""
    names = [field.name for field in fields(Cost)]
    print(f"{'append':>7} " + " ".join(f"{name:>18}" for name in names))
    for count, cost in measured.items():
        print(f"{count:>7} " + " ".join(f"{getattr(cost, name):>18.4g}" for name in names))
    for verdict in verdicts(measured):
        ratio, goal = verdict["ratio"], verdict["goal"]
        said = "no goal" if goal is None else f"goal <= {goal} {'met' if ratio <= goal else 'NOT MET'}"  # type: ignore[operator]
        print(f"  {verdict['figure']}: {ratio:.2f} times ({said})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to the 100th append")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    counts = (10, 100) if arguments.quick else (10, 100, 1_000)
    with tempfile.TemporaryDirectory() as temporary, node_for_tests(Path(temporary)) as rpc:
        measured = asyncio.run(measure(rpc, Path(temporary), counts, arguments.rounds))
    result = {
        "title": "incremental IPFS mirror of one append",
        "appends": {str(count): asdict(cost) for count, cost in measured.items()},
        "ratios": verdicts(measured),
    }
    if not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "ipfs_mirror.json").write_text(json.dumps(result, indent=2) + "\n")
    if arguments.json:
        print(json.dumps(result))
    else:
        show(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
