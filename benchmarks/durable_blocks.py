"""How many small blocks a second become durable in one push? (goal P12)

The plain way flushes every file and its folder; a store flushes once for all blocks of a push. Only wall time counts
here: what is waited for is the disk.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Goal, Question, Way, main
from opendatafabric.layout import block_key
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore

_ROUNDS = itertools.count()


def fresh_blocks(count: int) -> dict[str, bytes]:
    """``count`` blocks of 330 bytes that were never stored before."""
    number = next(_ROUNDS)
    contents = (f"{number} {index}".encode().ljust(330) for index in range(count))
    return {block_key(physical_hash(content)): content for content in contents}


def one_by_one(root: Path, count: int) -> Callable[[], None]:
    """Write, flush, rename, flush the folder, for each block."""
    (root / "plain" / "blocks").mkdir(parents=True)

    def run() -> None:
        for key, content in fresh_blocks(count).items():
            target = root / "plain" / key
            pending = target.with_name(".pending")
            with pending.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            pending.rename(target)
            folder = os.open(target.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    return run


def ask(quick: bool) -> Question:
    few, many = (100, 2_000) if quick else (500, 10_000)
    root = Path(tempfile.mkdtemp(prefix="durable-blocks-", dir=os.environ.get("BENCHMARK_FOLDER")))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    (root / "store").mkdir()
    store = LocalObjectStore(root / "store")
    return Question(
        "Making the small blocks of one push durable",
        "1000 blocks",
        [
            Way("flush each", one_by_one(root, few), few / 1000),
            Way("put_many", lambda: asyncio.run(store.put_many(fresh_blocks(many))), many / 1000),
        ],
        [
            Goal(
                "P12",
                "one push, to a flush for each",
                "put_many",
                "flush each",
                8,
                measure="wall_speed",
            )
        ],
    )


if __name__ == "__main__":
    main(ask)
