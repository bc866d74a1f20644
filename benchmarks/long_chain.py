"""How long do a pull and a push of a chain of 10,000 or 100,000 blocks take, in what memory, with how many requests?

A real server process and a real client process over loopback. The chain is valid: a Seed, a schema, and slices of one
record each that all name one object. Reported for both ends: wall and CPU seconds, and the peak of resident memory,
which has to stay under 512 MiB; and the number of HTTP requests. Then P11: how soon the answer to a pull is packed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.harness import RESULTS
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.layout import block_key, data_key
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeInt64
from opendatafabric.metadata.events import AddData, DatasetKind, MetadataEvent, Seed, SetDataSchema
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from storage.repository import Repository

RSS_MIB_MAX = 512
OBJECT = b"one record"
ALIAS = DatasetAlias.from_text("bench/long")


@dataclass(frozen=True)
class Run:
    """One transfer; seconds, MiB."""

    what: str
    blocks: int
    wall_s: float
    client_cpu_s: float
    client_rss_mib: float
    server_cpu_s: float
    server_rss_mib: float
    requests: int

    @property
    def within_memory(self) -> bool:
        return max(self.client_rss_mib, self.server_rss_mib) < RSS_MIB_MAX


def events(count: int) -> Iterator[MetadataEvent]:
    """What the blocks say."""
    yield Seed(new_dataset_id(bytes(31) + b"\7"), DatasetKind.ROOT)
    yield SetDataSchema(schema=DataSchema((DataField("value", DataTypeInt64()),)))
    object_hash = physical_hash(OBJECT)
    logical_hash = Multihash(HashCodec.ARROW0_SHA3_256, object_hash.digest)
    for offset in range(count - 2):
        new_data = DataSlice(logical_hash, object_hash, OffsetInterval(offset, offset), len(OBJECT))
        yield AddData(prev_offset=offset - 1 if offset else None, new_data=new_data)


def blocks(count: int) -> Iterator[HashedBlock]:
    """A valid chain, oldest first."""
    head = None
    for number, event in enumerate(events(count)):
        block = encode_block(MetadataBlock(Instant(2024, 1 + number // 86_400, number % 86_400), head, number, event))
        head = block.hash
        yield block


async def make_dataset(repository: Repository, count: int) -> None:
    """The chain as a dataset of ``repository``, written past every check."""
    entry = await repository.create(ALIAS, new_dataset_id(bytes(31) + b"\7"))
    objects = entry.dataset.writable_objects()
    await objects.put(data_key(physical_hash(OBJECT)), OBJECT)
    batch: dict[str, bytes] = {}
    for block in blocks(count):
        batch[block_key(block.hash)] = block.raw
        if len(batch) == 10_000:
            await objects.put_many(batch)
            batch = {}
    await objects.put_many(batch)
    await entry.dataset.refs.compare_and_swap("head", expected=None, new=block.hash)


SERVER = """
import asyncio, sys
from pathlib import Path
from repo_server.app import serve
from repo_server.config import Settings
settings = Settings(repo=Path(sys.argv[1]), port=0, default_visibility="public", default_account="bench")
asyncio.run(serve(settings, on_ready=lambda address: print(address, flush=True)))
"""

CLIENT = """
import asyncio, sys
from pathlib import Path
import aiohttp
from benchmarks.long_chain import ALIAS
from storage.repository import Repository
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import RepositoryTarget

async def main(verb, folder, url, token):
    repository = Repository.init(Path(folder))
    async with aiohttp.ClientSession() as session:
        if verb == "pull":
            await pull_dataset(session, parse_remote(url), RepositoryTarget(repository, ALIAS))
        else:
            entry = await repository.find(ALIAS)
            await push_dataset(session, entry.dataset, parse_remote(url), token=token)

asyncio.run(main(*sys.argv[1:]))
"""


class Server:
    """A server process over a folder; its access log counts the requests."""

    def __init__(self, folder: Path) -> None:
        self.log = folder.parent / f"{folder.name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVER, str(folder)], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip().split()[-1].rstrip("/")

    def stop(self) -> tuple[resource.struct_rusage, int]:
        """What it used, and how many requests it answered."""
        self.process.terminate()
        _, _, usage = os.wait4(self.process.pid, 0)
        requests = sum('"path"' in line for line in self.log.read_text().splitlines())
        return usage, requests


def transfer(verb: str, server_folder: Path, client_folder: Path, count: int, token: str) -> Run:
    """Run both processes to the end of one transfer."""
    server = Server(server_folder)
    url = f"odf+{server.address}/{ALIAS}"
    began = time.perf_counter()
    client = subprocess.Popen([sys.executable, "-c", CLIENT, verb, str(client_folder), url, token])
    _, status, usage = os.wait4(client.pid, 0)
    wall_s = time.perf_counter() - began
    server_usage, requests = server.stop()
    if status != 0:
        raise SystemExit(f"{verb} of {count} blocks failed")
    return Run(
        what=verb,
        blocks=count,
        wall_s=wall_s,
        client_cpu_s=usage.ru_utime + usage.ru_stime,
        client_rss_mib=usage.ru_maxrss / 1024,
        server_cpu_s=server_usage.ru_utime + server_usage.ru_stime,
        server_rss_mib=server_usage.ru_maxrss / 1024,
        requests=requests,
    )


async def make_token(folder: Path) -> str:
    """A token of the account the dataset lies under."""
    from catalog.catalog import open_catalog  # noqa: PLC0415  the client processes import this module without SQL
    from opendatafabric.names import AccountName  # noqa: PLC0415
    from repo_server.config import Settings  # noqa: PLC0415

    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        return await catalog.tokens.create(await catalog.accounts.find_or_create(AccountName("bench")))


def measure(count: int) -> list[Run]:
    """A pull of the chain from a server, then a push of it to another."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        asyncio.run(make_dataset(Repository.init(folder / "source"), count))
        pulled = transfer("pull", folder / "source", folder / "pulled", count, "")
        Repository.init(folder / "target")
        token = asyncio.run(make_token(folder / "target"))
        return [pulled, transfer("push", folder / "target", folder / "pulled", count, token)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 blocks only")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each size")
    arguments = parser.parse_args()
    counts = [10_000] if arguments.quick else [10_000, 100_000]
    runs = [run for count in counts for _ in range(arguments.rounds) for run in measure(count)]
    if not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "long_chain.json").write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    if arguments.json:
        print(json.dumps([asdict(run) for run in runs]))
        return 0
    print(
        f"{'what':5} {'blocks':>7} {'wall s':>7} {'client s':>9} {'MiB':>5} {'server s':>9} {'MiB':>5} {'requests':>8}"
    )
    for run in runs:
        print(
            f"{run.what:5} {run.blocks:7} {run.wall_s:7.2f} {run.client_cpu_s:9.2f} {run.client_rss_mib:5.0f} "
            f"{run.server_cpu_s:9.2f} {run.server_rss_mib:5.0f} {run.requests:8}  "
            f"{'met' if run.within_memory else 'NOT met'}: under {RSS_MIB_MAX} MiB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
