"""How long does it take to verify 2 GiB in 200 slices, against what hashes the same files with nothing else to do?

Against ``openssl dgst -sha3-256`` over the same files, one process for each core: the physical phase alone (presence,
size and bytes of every object), and all of it (the chain, its rules, and the records of every slice by their logical
hash, offsets, times and columns). The logical hash takes in more bytes than the files hold, for those are compressed,
and has to decode them first, so the second ratio says what records cost. Files are in the cache of the system. Checks
run in processes that are not our children, so CPU seconds say little: wall seconds are compared.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Goal, Question, Way, main
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import AddData, DatasetKind, MetadataEvent, Seed, SetDataSchema
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from verify.integrity import verify_integrity
from verify.object_checks import ObjectChecks, cores
from verify.objects import ObjectTask
from verify.report import Verdict

ROWS = 240_000
"""Of a slice, which is then a file of about 10 MiB."""

MOMENT = datetime(2024, 1, 1, tzinfo=UTC)


def records(number: int) -> pa.Table:
    """A slice of measurements: times, stations by name, three readings and a note."""
    random = np.random.default_rng(number)
    stamp = pa.timestamp("ms", "UTC")
    moment, first = int(MOMENT.timestamp() * 1000), number * ROWS
    names = pa.array([f"station-{each:05}" for each in range(5_000)])
    return pa.table(
        {
            "offset": pa.array(np.arange(first, first + ROWS, dtype=np.int64)),
            "op": pa.array(np.zeros(ROWS, dtype=np.int32)),
            "system_time": pa.array(np.full(ROWS, moment), pa.int64()).cast(stamp),
            "event_time": pa.array(moment + np.sort(random.integers(0, 86_400_000, ROWS))).cast(stamp),
            "station": names.take(pa.array(random.integers(0, 5_000, ROWS))),
            "temperature": pa.array(random.normal(10, 8, ROWS)),
            "pressure": pa.array(random.normal(1013, 10, ROWS)),
            "humidity": pa.array(random.normal(70, 15, ROWS)),
            "note": pa.array(random.integers(0, 1 << 30, ROWS)).cast(pa.string()),
        }
    )


def write_slice(root: Path, number: int) -> tuple[DataSlice, int]:
    """One more file of the dataset; the highest event time in it, in milliseconds."""
    table, path = records(number), root / f"slice-{number}"
    pq.write_table(table, path, compression="snappy")
    raw = path.read_bytes()
    path.rename(root / data_key(physical_hash(raw)))
    interval = OffsetInterval(number * ROWS, (number + 1) * ROWS - 1)
    found = logical_hash_parquet(pa.BufferReader(raw))
    return DataSlice(found, physical_hash(raw), interval, len(raw)), table.column("event_time")[-1].value


def write_chain(root: Path, slices: Sequence[tuple[DataSlice, int]]) -> None:
    """Seed, schema, and a block for each slice."""
    state, watermark = ChainState.empty(), None
    schema = SetDataSchema(schema=arrow_schema_to_odf(records(0).schema))
    events: list[MetadataEvent] = [Seed(new_dataset_id(bytes(31) + b"\2"), DatasetKind.ROOT), schema]
    for number, (made, latest) in enumerate(slices):
        reached = Instant.from_datetime(datetime.fromtimestamp(latest / 1000, UTC))
        watermark = reached if watermark is None else max(watermark, reached)
        prev_offset = number * ROWS - 1 if number else None
        events.append(AddData(prev_offset=prev_offset, new_data=made, new_watermark=watermark))
    for event in events:
        block = encode_block(MetadataBlock(Instant.from_datetime(MOMENT), state.head, state.sequence_number + 1, event))
        (root / "blocks" / str(block.hash)).write_bytes(block.raw)
        state = state.apply(block)
    (root / "refs" / "head").write_text(str(state.head))


def make_dataset(root: Path, count: int) -> Dataset:
    for name in ("blocks", "data", "refs"):
        (root / name).mkdir()
    with ProcessPoolExecutor() as pool:
        slices = list(pool.map(write_slice, [root] * count, range(count)))
    write_chain(root, slices)
    return Dataset(LocalObjectStore(root), LocalRefStore(root))


def openssl(files: Sequence[Path]) -> Callable[[], None]:
    """The files dealt out to as many processes as there are cores."""
    program = shutil.which("openssl")
    assert program is not None

    def run() -> None:
        shares = [files[number :: cores()] for number in range(cores())]
        started = [
            subprocess.Popen([program, "dgst", "-sha3-256", *map(str, share)], stdout=subprocess.DEVNULL)
            for share in shares
        ]
        assert [process.wait() for process in started] == [0] * len(started)

    return run


async def physical(dataset: Dataset, files: Sequence[Path]) -> None:
    """Presence, size and bytes of every object, as ``verify_integrity`` looks at them."""
    checks, waiting = ObjectChecks(dataset.objects, cores()), iter(files)

    async def work() -> None:
        for path in waiting:
            name = Multihash.from_text(path.name)
            task = ObjectTask(data_key(name), name, 1, name, path.stat().st_size)
            assert not (await checks.check(task)).findings

    await asyncio.gather(*(work() for _ in range(checks.at_once)))
    await checks.close()


async def whole(dataset: Dataset) -> None:
    report = await verify_integrity(dataset)
    assert report.verdict is Verdict.VALID, report.as_text()


def ask(quick: bool) -> Question:
    root = Path(tempfile.mkdtemp(prefix="verify-integrity-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    dataset = make_dataset(root, 20 if quick else 200)
    files = sorted((root / "data").iterdir())
    size = sum(os.path.getsize(path) for path in files) / 2**30
    ways = [
        Way("physical", lambda: asyncio.run(physical(dataset, files)), size),
        Way("with records", lambda: asyncio.run(whole(dataset)), size),
    ]
    goals, skipped = [], ["openssl is not installed"]
    if shutil.which("openssl") is not None:
        ways.insert(0, Way("openssl", openssl(files), size))
        goals = [
            Goal("V1", "physical phase, to openssl", "physical", "openssl", 0.9, True, "wall_speed"),
            Goal("V2", "with records, to openssl", "with records", "openssl", 0.2, True, "wall_speed"),
        ]
        skipped = []
    return Question(f"Integrity of {size:.2f} GiB in {len(files)} slices, {cores()} cores", "GiB", ways, goals, skipped)


if __name__ == "__main__":
    main(ask)
