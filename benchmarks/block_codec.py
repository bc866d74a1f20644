"""How long does it take to write and read one metadata block? Measured against the stock flatbuffers package.

The block is an AddData of about 330 bytes, the kind that long chains are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatbuffers
from flatbuffers.number_types import Int64Flags, UOffsetTFlags
from flatbuffers.table import Table

from benchmarks.harness import Goal, Question, Way, main
from benchmarks.walk_chain import small_blocks
from opendatafabric.codec.block_codec import decode_block, encode_block, read_block_header

REPEATS = 2_000


def stock_header(raw: bytes) -> tuple[int, bytes, bytes]:
    """Sequence number, previous hash and type of event by the package's accessors, as generated code reads them."""
    manifest = _root(raw)
    content_at = manifest.Offset(8)
    content = raw[manifest.Vector(content_at) : manifest.Vector(content_at) + manifest.VectorLen(content_at)]
    block = _root(content)
    prev = block.Offset(6)
    found = content[block.Vector(prev) : block.Vector(prev) + block.VectorLen(prev)] if prev else b""
    sequence = block.Get(Int64Flags, block.Offset(8) + block.Pos) if block.Offset(8) else 0
    return sequence, bytes(found), content[block.Offset(10) + block.Pos : block.Offset(10) + block.Pos + 1]


def stock_encode(payload: bytes) -> bytes:
    """A manifest alone, by the package's builder: less than a block takes, and already slower."""
    builder = flatbuffers.Builder(0)
    content = builder.CreateByteVector(payload)
    builder.StartObject(3)
    builder.PrependInt64Slot(0, 0x400000, 0)
    builder.PrependInt32Slot(1, 2, 0)
    builder.PrependUOffsetTRelativeSlot(2, content, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _root(data: bytes) -> Any:
    return Table(data, flatbuffers.encode.Get(UOffsetTFlags.packer_type, data, 0))


def repeated(work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(REPEATS):
            work()

    return run


def ask(quick: bool) -> Question:
    raw = list(small_blocks(20))[-1][1]
    block = decode_block(raw).block
    assert stock_header(raw)[0] == block.sequence_number
    ways = {
        "header, flatbuffers package": lambda: stock_header(raw),
        "read_block_header": lambda: read_block_header(raw),
        "decode_block": lambda: decode_block(raw),
        "encode_block": lambda: encode_block(block),
        "manifest alone, flatbuffers package": lambda: stock_encode(raw[48:]),
    }
    return Question(
        f"One block of {len(raw)} bytes",
        "1k blocks",
        [Way(name, repeated(work), REPEATS / 1000) for name, work in ways.items()],
        [Goal("", "header, to the package", "read_block_header", "header, flatbuffers package", 2.0)],
    )


if __name__ == "__main__":
    main(ask)
