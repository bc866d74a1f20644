"""How long does a server take until it has the blocks of a long chain packed for a pull? (goal P11)

Cold: the chain lies in a local folder, nothing is kept. The walk from the head, the plan and the pack count, also that
it is kept then; the JSON around it does not. Kept: somebody pulled the same before. The plain way reads each file,
hashes it, follows the header, then uses Python's tarfile and gzip.
"""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from pathlib import Path

from benchmarks.block_pack import plainly_packed
from benchmarks.harness import Goal, Question, Way, main
from benchmarks.walk_chain import make_chain
from opendatafabric.codec.block_codec import read_block_header
from opendatafabric.limits import PACK_BYTES_MAX
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset
from storage.local.derived import LocalDerivedStore
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from sync.intervals import pack_interval, plan_interval


def answered_cold(root: Path, head: Multihash, kept: Path) -> int:
    """Ours, when nobody pulled that before."""
    shutil.rmtree(kept, ignore_errors=True)
    return answered(root, head, kept)


def answered(root: Path, head: Multihash, kept: Path) -> int:
    """Ours, as the server does it, with a folder of ``kept`` packs."""

    async def answer() -> int:
        packs = LocalDerivedStore(kept, bytes_max=PACK_BYTES_MAX)
        dataset = Dataset(LocalObjectStore(root), LocalRefStore(root))
        await dataset.refs.compare_and_swap("head", expected=await dataset.head(), new=head)
        interval = await plan_interval(dataset, None, None, force=False, packs=packs)
        return len((await pack_interval(dataset, interval, packs=packs)).batch(base64=True).payload)

    return asyncio.run(answer())


def plainly_answered(root: Path, head: Multihash) -> int:
    """What one would write first."""
    blocks: list[tuple[Multihash, bytes]] = []
    following: Multihash | None = head
    while following is not None:
        raw = (root / "blocks" / str(following)).read_bytes()
        assert physical_hash(raw) == following
        blocks.append((following, raw))
        following = read_block_header(raw).prev_block_hash
    return len(plainly_packed(blocks[::-1]))


def ask(quick: bool) -> Question:
    count = 10_000 if quick else 100_000
    root = Path(tempfile.mkdtemp(prefix="pull-pack-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    (root / "refs").mkdir()
    head = make_chain(root, count)
    kept = root / "kept"
    units = count / 100_000
    return Question(
        "Answering a pull of a chain of small blocks, up to the finished pack",
        "100k blocks",
        [
            Way("plain walk, tarfile, gzip 6", lambda: plainly_answered(root, head), units),
            Way("plan and pack", lambda: answered_cold(root, head, kept), units),
            Way("kept pack", lambda: answered(root, head, kept), units),
        ],
        [
            Goal("P11", "cold answer, to tarfile and gzip 6", "plan and pack", "plain walk, tarfile, gzip 6", 3.0),
            Goal("P11", "kept answer, to tarfile and gzip 6", "kept pack", "plain walk, tarfile, gzip 6", 50.0),
        ],
    )


if __name__ == "__main__":
    main(ask)
