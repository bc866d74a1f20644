"""How close is the logical hash to its floor, which is sha3-256 over the bytes it is made of?

Asked for a slice of a million records of five common columns, for a wide mixture of twelve (goal P8), for the worst
column there is (texts of two bytes, P8), against the code that the reference uses (P7, needs cargo), and for a whole
verification from Parquet (P9). Figures are for a million rows.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Goal, Question, Way, main
from opendatafabric.data.column_bytes import column_bytes
from opendatafabric.data.logical_hash import LogicalHasher, logical_hash_parquet, logical_hash_table
from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.data.slice_format import write_slice
from opendatafabric.data.struct_nulls import leaves
from opendatafabric.data.type_codes import leaf_columns, schema_header, type_code
from opendatafabric.multihash import physical_hash

ROWS = 1_000_000
STEP_ROWS = 65_536
CRATE = Path(__file__).resolve().parent / "arrow_digest"
RUST_ROUNDS = 8
CHUNK_BYTES = 256 * 1024


def rows(quick: bool) -> int:
    return ROWS // 10 if quick else ROWS


def nulls(random: Any, count: int, share: float) -> Any:
    return random.random(count) < share


def texts(random: Any, count: int, size: int) -> pa.Array:
    """Letters, ``size`` bytes each on average (exactly so up to 2)."""
    lengths = np.full(count, size) if size <= 2 else random.integers(size - 3, size + 4, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    letters = random.integers(97, 123, int(offsets[-1]), dtype=np.uint8)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


def with_nulls(array: pa.Array, mask: Any) -> pa.Array:
    bits = pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [bits, *array.buffers()[1:]])


def slice_table(count: int) -> pa.Table:
    """uint64, utf8, double, timestamp, nullable bool."""
    random = np.random.default_rng(1)
    return pa.table(
        {
            "offset": np.arange(count, dtype=np.uint64),
            "city": texts(random, count, 11),
            "value": random.random(count),
            "time": pa.array(random.integers(0, 2**41, count), pa.timestamp("ms", "UTC")),
            "flag": pa.array(random.random(count) < 0.5, mask=nulls(random, count, 0.2)),
        }
    )


def mixed_table(count: int) -> pa.Table:
    """Twelve columns, about 117 hashed bytes a row: numbers, times, texts, booleans, five of them with nulls."""
    random = np.random.default_rng(2)
    times = pa.array(random.integers(0, 2**41, count), pa.timestamp("ms", "UTC"))
    return pa.table(
        {
            "offset": np.arange(count),
            "op": np.zeros(count, np.int32),
            "system_time": times,
            "event_time": times,
            "name": texts(random, count, 11),
            "note": with_nulls(texts(random, count, 35), nulls(random, count, 0.1)),
            "code": texts(random, count, 2),
            "price": random.random(count),
            "count": pa.array(random.integers(0, 2**40, count), mask=nulls(random, count, 0.1)),
            "ratio": pa.array(random.random(count).astype(np.float32), mask=nulls(random, count, 0.01)),
            "open": pa.array(random.random(count) < 0.5),
            "known": pa.array(random.random(count) < 0.5, mask=nulls(random, count, 0.2)),
        }
    )


def streams(table: pa.Table) -> list[list[Any]]:
    """For each leaf column the pieces that its hasher is fed, made beforehand."""
    found: list[list[Any]] = [[type_code(column)] for column in leaf_columns(table.schema)]
    for batch in table.to_batches(STEP_ROWS):
        for pieces, leaf in zip(found, leaves(batch), strict=True):
            pieces.append(column_bytes(leaf.array, leaf.valid).copy())
    return found


def bare_hash(table: pa.Table) -> Callable[[], bytes]:
    """sha3-256 over the very same bytes: what cannot be saved."""
    prepared, header = streams(table), schema_header(table.schema)

    def run() -> bytes:
        outer = hashlib.sha3_256(header)
        for pieces in prepared:
            state = hashlib.sha3_256()
            for piece in pieces:
                state.update(piece)
            outer.update(state.digest())
        return outer.digest()

    assert run() == logical_hash_table(table).digest
    return run


def two_threads(table: pa.Table) -> Callable[[], bytes]:
    """One task for each column, the largest first."""
    sizes = [sum(len(piece) for piece in pieces) for pieces in streams(table)]
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])

    def run() -> bytes:
        hasher = LogicalHasher(table.schema)
        batches = [leaves(batch) for batch in table.to_batches(STEP_ROWS)]

        def column(index: int) -> None:
            for batch in batches:
                hasher.columns[index].update(batch[index])

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(column, order))
        return hasher.finish().digest

    return run


def against_bare(title: str, table: pa.Table, goal: str, target: float) -> Question:
    units = len(table) / ROWS
    ways = [
        Way("logical hash", lambda: logical_hash_table(table), units),
        Way("bare sha3-256", bare_hash(table), units),
    ]
    bytes_a_row = sum(len(piece) for pieces in streams(table) for piece in pieces) / len(table)
    goals = [Goal(goal, "logical hash / bare sha3-256", "logical hash", "bare sha3-256", target)]
    return Question(f"{title} ({bytes_a_row:.0f} hashed bytes a row)", "Mrow", ways, goals)


def common_slice(quick: bool) -> Question:
    """The slice that the project's task names."""
    return against_bare("uint64, utf8, double, timestamp, nullable bool", slice_table(rows(quick)), "P8", 0.6)


def mixture(quick: bool) -> Question:
    """Goal P8."""
    return against_bare("twelve mixed columns", mixed_table(rows(quick)), "P8", 0.6)


def worst_column(quick: bool) -> Question:
    """Goal P8: two bytes of text behind eight of length."""
    table = pa.table({"code": texts(np.random.default_rng(3), rows(quick), 2)})
    return against_bare("worst column: texts of two bytes", table, "P8", 0.35)


def rust_program() -> tuple[Path | None, str]:
    """The crate, built; or why it is not there."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return None, "P7: cargo is not installed, so there is nothing of the reference to compare with"
    target = os.environ.get("CARGO_TARGET_DIR", str(CRATE / "target"))
    command = [
        cargo,
        "build",
        "--release",
        "--quiet",
        "--manifest-path",
        str(CRATE / "Cargo.toml"),
        "--target-dir",
        target,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, f"P7: the crate cannot be built: {done.stderr.strip().splitlines()[-1:]}"
    return Path(target) / "release" / "arrow-digest-bench", ""


def against_rust(quick: bool) -> Question:
    """Goal P7: the same digest as the crate arrow-digest 57, at what speed?"""
    table = mixed_table(rows(quick))
    units = len(table) / ROWS
    ways = [
        Way("ours, 1 thread", lambda: logical_hash_table(table), units),
        Way("ours, 2 threads", two_threads(table), units),
    ]
    program, reason = rust_program()
    if program is None:
        return Question("against the reference's crate", "Mrow", ways, skipped=[reason])
    file = Path(tempfile.mkdtemp(prefix="odf-bench-")) / "table.arrow"
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=STEP_ROWS)
    command = [str(program), str(file), str(RUST_ROUNDS)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    assert printed == logical_hash_table(table).digest.hex(), "another digest than the reference's"
    name = "arrow-digest 57, release, 1 thread"
    ways.append(Way(name, lambda: subprocess.run(command, capture_output=True, check=True), units * RUST_ROUNDS))
    goals = [
        Goal("P7", "ours / the crate, 1 thread", "ours, 1 thread", name, 0.85),
        Goal("P7", "ours with 2 threads / the crate", "ours, 2 threads", name, 1.5, measure="wall_speed"),
    ]
    return Question("against the reference's crate (same digest)", "Mrow", ways, goals)


def verification(quick: bool) -> Question:
    """Goal P9: physical and logical hash of a Parquet file, against decoding it and hashing the bytes of both."""
    table = mixed_table(rows(quick))
    file = io.BytesIO()
    write_slice(file, table)
    data = file.getvalue()
    bare = bare_hash(table)
    units = len(table) / ROWS

    def decode() -> None:
        for _ in ParquetRecords(io.BytesIO(data)).batches():
            pass

    def verify() -> None:
        physical_hash(data)
        logical_hash_parquet(io.BytesIO(data))

    def parts() -> None:
        decode()
        physical_hash(data)
        bare()

    def verify_two() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: verify(), range(2)))

    ways = [
        Way("verify", verify, units),
        Way("decode + sha3 of file and records", parts, units),
        Way("decode", decode, units),
        Way("verify two files, 2 threads", verify_two, 2 * units),
    ]
    goals = [
        Goal("P9", "verify / the sum of its parts", "verify", "decode + sha3 of file and records", 0.75),
        Goal("P9", "two files at once / one", "verify two files, 2 threads", "verify", 1.7, measure="wall_speed"),
    ]
    return Question("physical and logical hash from Parquet", "Mrow", ways, goals)


if __name__ == "__main__":
    main(common_slice, mixture, worst_column, against_rust, verification)
