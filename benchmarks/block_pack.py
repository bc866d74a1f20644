"""How long does it take to pack the blocks of a long chain for transit, and to unpack them? (goal P11)

Measured against Python's own tarfile and gzip on the same blocks. Unpacking hashes every block; the plain way does too.
"""

from __future__ import annotations

import io
import tarfile

from benchmarks.harness import Goal, Question, Way, main
from benchmarks.walk_chain import small_blocks
from opendatafabric.codec.block_pack import pack_blocks, unpack_blocks
from opendatafabric.multihash import Multihash, physical_hash

Blocks = list[tuple[Multihash, bytes]]


def plainly_packed(blocks: Blocks) -> bytes:
    """What one would write first: tarfile over gzip at level 6."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=6) as archive:
        for block_hash, raw in blocks:
            entry = tarfile.TarInfo(str(block_hash))
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    return stream.getvalue()


def plainly_unpacked(data: bytes) -> int:
    """The same backwards, each block hashed."""
    count = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r|gz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            assert str(physical_hash(file.read())) == member.name
            count += 1
    return count


def unpacked(data: bytes) -> int:
    """Ours."""
    return sum(1 for _ in unpack_blocks(data, count_max=1_000_000))


def blocks_of(quick: bool) -> tuple[Blocks, float]:
    count = 10_000 if quick else 100_000
    return list(small_blocks(count)), count / 100_000


def ask_packing(quick: bool) -> Question:
    blocks, units = blocks_of(quick)
    return Question(
        "Packing small blocks",
        "100k blocks",
        [
            Way("tarfile, gzip 6", lambda: plainly_packed(blocks), units),
            Way("pack_blocks", lambda: pack_blocks(blocks), units),
        ],
        [Goal("P11", "packing, to tarfile and gzip 6", "pack_blocks", "tarfile, gzip 6", 3.0)],
    )


def ask_unpacking(quick: bool) -> Question:
    blocks, units = blocks_of(quick)
    data = pack_blocks(blocks)
    return Question(
        f"Unpacking and hashing small blocks ({len(data) / units / 2**20:.1f} MiB for 100k)",
        "100k blocks",
        [
            Way("tarfile stream", lambda: plainly_unpacked(data), units),
            Way("unpack_blocks", lambda: unpacked(data), units),
        ],
        [Goal("", "unpacking, to a tarfile stream", "unpack_blocks", "tarfile stream", 2.0)],
    )


if __name__ == "__main__":
    main(ask_packing, ask_unpacking)
