"""Stretches of a chain: which blocks they hold, what those come to, and all of them in one pack."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Literal

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.codec.block_pack import BlockPacker
from opendatafabric.errors import BlockNotFound, ChainsDiverged, LimitExceeded
from opendatafabric.limits import MESSAGE_BYTES_MAX, PACK_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from sync.plan import TransferPlan, plan_transfer
from sync.smart.messages import MetadataBlocksBatch
from sync.smart.pull import ChainInterval

_JSON_CHARS_PER_BYTE: Final = 3.6
"""What a byte of a pack costs on the wire as one of an array of numbers."""

_BASE64_CHARS_PER_BYTE: Final = 4 / 3
_ENVELOPE_CHARS: Final = 1_000


async def plan_interval(
    dataset: Dataset, begin_after: Multihash | None, stop_at: Multihash | None, *, force: bool
) -> ChainInterval:
    """The blocks after ``begin_after`` up to ``stop_at`` (the head), both on the chain under the head.

    Raises:
        ChainsDiverged: ``begin_after`` is not below; ``expected`` is it, ``found`` where the search began.
        BlockNotFound: ``stop_at`` is not on the chain.
    """
    head = await dataset.head()
    start = stop_at or head
    if head is None or start is None or start == begin_after:
        return ChainInterval((), TransferPlan())
    if start != head and start not in await hashes_down_to(dataset, head, start):
        raise BlockNotFound(f"block {start} is not on the chain of the dataset")
    hashes: list[Multihash] = []
    files: list[ObjectFile] = []
    plan = TransferPlan()
    oldest: HashedBlock | None = None
    async for blocks in dataset.walk(start, stop_before=begin_after):
        hashes.extend(block.hash for block in blocks)
        files.extend(file for block in blocks for file in reversed(objects_of(block)))
        plan += await asyncio.to_thread(plan_transfer, blocks)
        oldest = blocks[-1]
    if begin_after is not None and not force and (oldest is None or oldest.prev_block_hash != begin_after):
        raise ChainsDiverged("the interval begins behind no block of the chain", expected=begin_after, found=start)
    return ChainInterval(tuple(reversed(hashes)), plan, tuple(dict.fromkeys(reversed(files))))


async def hashes_down_to(dataset: Dataset, head: Multihash, wanted: Multihash) -> set[Multihash]:
    """Blocks from ``head`` back to ``wanted``, and some below; the whole chain when ``wanted`` is not on it."""
    met: set[Multihash] = set()
    async for headers in dataset.walk_headers(head):
        met.update(walked.hash for walked in headers)
        if wanted in met:
            break
    return met


async def pack_interval(dataset: Dataset, hashes: Sequence[Multihash], *, base64: bool) -> MetadataBlocksBatch:
    """The named blocks, oldest first, in one batch.

    Raises:
        LimitExceeded: more than one message can carry.
    """
    packer = BlockPacker()
    async for blocks in dataset.read_raw_blocks(hashes):
        await asyncio.to_thread(packer.add_all, blocks)
    payload = await asyncio.to_thread(packer.finish)
    encoding: Literal["raw", "base64"] = "base64" if base64 else "raw"
    chars_per_byte = _BASE64_CHARS_PER_BYTE if base64 else _JSON_CHARS_PER_BYTE
    size_max = min(PACK_BYTES_MAX, int(MESSAGE_BYTES_MAX / chars_per_byte) - _ENVELOPE_CHARS)
    if len(payload) > size_max:
        raise LimitExceeded(
            f"{len(hashes)} blocks are more than one message can carry",
            expected=f"at most {size_max} bytes packed",
            found=len(payload),
            hint="use odf, which packs tighter, or pull in steps with --stop-at",
        )
    return MetadataBlocksBatch(num_blocks=len(hashes), encoding=encoding, payload=payload)
