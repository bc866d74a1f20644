"""Stretches of a chain: what they come to, and all their blocks in one pack.

Both come of one walk, since reading is most of the work. What a long walk found may be kept, by the hashes it began and
ended at: they name the same blocks for ever, whatever becomes of the head.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final, Literal

import orjson

from opendatafabric.chain.additions import NamedObject
from opendatafabric.chain.objects import ObjectFile
from opendatafabric.codec.block_pack import BackwardsPacker
from opendatafabric.errors import BlockNotFound, ChainsDiverged, LimitExceeded
from opendatafabric.limits import MESSAGE_BYTES_MAX, PACK_BYTES_MAX, PACK_KEPT_BLOCKS_MIN
from opendatafabric.multihash import Multihash
from storage.chain_walk import AddingBlock
from storage.dataset import Dataset
from storage.protocols import DerivedStore
from sync.plan import TransferPlan
from sync.smart.messages import MetadataBlocksBatch
from sync.smart.pull import ChainInterval

_JSON_CHARS_PER_BYTE: Final = 3.6
"""What a byte of a pack costs on the wire as one of an array of numbers."""

_BASE64_CHARS_PER_BYTE: Final = 4 / 3
_ENVELOPE_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Packed:
    """The blocks of an interval, counted and packed; of a pack that nobody may send only the ``size`` is known."""

    plan: TransferPlan
    size: int
    pack: bytes | None

    def batch(self, *, base64: bool) -> MetadataBlocksBatch:
        """The blocks as they are sent.

        Raises:
            LimitExceeded: more than one message can carry.
        """
        encoding: Literal["raw", "base64"] = "base64" if base64 else "raw"
        chars_per_byte = _BASE64_CHARS_PER_BYTE if base64 else _JSON_CHARS_PER_BYTE
        size_max = min(PACK_BYTES_MAX, int(MESSAGE_BYTES_MAX / chars_per_byte) - _ENVELOPE_CHARS)
        if self.pack is None or self.size > size_max:
            raise LimitExceeded(
                f"{self.plan.num_blocks} blocks are more than one message can carry",
                expected=f"at most {size_max} bytes packed",
                found=self.size,
                hint="use odf, which packs tighter, or pull in steps with --stop-at",
            )
        return MetadataBlocksBatch(num_blocks=self.plan.num_blocks, encoding=encoding, payload=self.pack)

    def to_bytes(self) -> bytes:
        """For keeping."""
        return orjson.dumps([*astuple(self.plan), self.size]) + b"\n" + (self.pack or b"")

    @classmethod
    def from_bytes(cls, kept: bytes) -> Packed:
        """What ``to_bytes`` gave."""
        figures, _, pack = kept.partition(b"\n")
        *plan, size = orjson.loads(figures)
        return cls(TransferPlan(*plan), size, pack or None)


@dataclass(frozen=True, slots=True)
class WalkedInterval:
    """What walking an interval found; ``objects`` are all that its blocks add, each once, oldest first."""

    packed: Packed
    begin_after: Multihash | None = None
    """The block below the oldest; ``None`` also where another one was asked for and is not below."""

    objects: Sequence[NamedObject] = ()

    @property
    def plan(self) -> TransferPlan:
        return self.packed.plan

    def files(self) -> tuple[ObjectFile, ...]:
        """The objects with everything checked."""
        return tuple(each.to_file() for each in self.objects)


NOTHING: Final = WalkedInterval(Packed(TransferPlan(), 0, None))


async def find_end(dataset: Dataset, stop_at: Multihash | None) -> Multihash | None:
    """The last block of an interval: ``stop_at`` if it is on the chain, or the head.

    Raises:
        BlockNotFound: ``stop_at`` is not on the chain.
    """
    head = await dataset.head()
    if stop_at is None or head is None or stop_at == head:
        return head
    if stop_at not in await hashes_down_to(dataset, head, stop_at):
        raise BlockNotFound(f"block {stop_at} is not on the chain of the dataset")
    return stop_at


async def walk_interval(
    dataset: Dataset, end: Multihash | None, begin_after: Multihash | None, *, force: bool
) -> WalkedInterval:
    """The blocks after ``begin_after`` up to ``end``, read once; all with ``force`` if ``begin_after`` is not below.

    Raises:
        ChainsDiverged: ``begin_after`` is not below; ``expected`` is it, ``found`` where the search began.
    """
    if end is None or end == begin_after:
        return NOTHING
    walk = _Walk()
    async for blocks in dataset.walk_additions(end, stop_before=begin_after):
        await asyncio.to_thread(walk.take, blocks)
    is_below = begin_after is None or walk.prev_block_hash == bytes(begin_after)
    if not is_below and not force:
        raise ChainsDiverged("the interval begins behind no block of the chain", expected=begin_after, found=end)
    return await asyncio.to_thread(walk.result, begin_after if is_below else None)


async def plan_interval(
    dataset: Dataset, begin_after: Multihash | None, stop_at: Multihash | None, *, force: bool, packs: DerivedStore
) -> ChainInterval:
    """The blocks after ``begin_after`` up to ``stop_at`` (the head); a long walk leaves its pack in ``packs``.

    Raises:
        ChainsDiverged, BlockNotFound: as ``walk_interval`` and ``find_end``.
    """
    end = await find_end(dataset, stop_at)
    kept = None if end is None else await _kept(packs, end, begin_after)
    if kept is not None:
        return ChainInterval(kept.plan, end, begin_after)
    walked = await walk_interval(dataset, end, begin_after, force=force)
    if end is not None:
        await _keep(packs, end, walked)
    return ChainInterval(walked.plan, end, walked.begin_after)


async def pack_interval(dataset: Dataset, interval: ChainInterval, *, packs: DerivedStore) -> Packed:
    """The blocks of a planned interval: from ``packs``, or walked again."""
    assert interval.end is not None
    kept = await _kept(packs, interval.end, interval.begin_after)
    if kept is not None:
        return kept
    walked = await walk_interval(dataset, interval.end, interval.begin_after, force=False)
    await _keep(packs, interval.end, walked)
    return walked.packed


async def _kept(packs: DerivedStore, end: Multihash, begin_after: Multihash | None) -> Packed | None:
    kept = await packs.read(_name(end, begin_after))
    return None if kept is None else Packed.from_bytes(kept)


async def _keep(packs: DerivedStore, end: Multihash, walked: WalkedInterval) -> None:
    if walked.plan.num_blocks >= PACK_KEPT_BLOCKS_MIN:
        await packs.keep(_name(end, walked.begin_after), walked.packed.to_bytes())


def _name(end: Multihash, begin_after: Multihash | None) -> str:
    return f"{end}-{begin_after or 'seed'}"


async def hashes_down_to(dataset: Dataset, head: Multihash, wanted: Multihash) -> set[Multihash]:
    """Blocks from ``head`` back to ``wanted``, and some below; the whole chain when ``wanted`` is not on it."""
    met: set[Multihash] = set()
    async for headers in dataset.walk_headers(head):
        met.update(walked.hash for walked in headers)
        if wanted in met:
            break
    return met


class _Walk:
    """What a walk back has met so far; used in threads, one batch after another."""

    def __init__(self) -> None:
        self.prev_block_hash: bytes | None = None
        self._packer = BackwardsPacker()
        self._plan = TransferPlan()
        self._newest_first: dict[NamedObject, None] = {}

    def take(self, blocks: Sequence[AddingBlock]) -> None:
        names, raw_blocks, additions = zip(*blocks, strict=True)
        self._packer.add_all(tuple(zip(names, raw_blocks, strict=True)))
        objects = [each for adds in additions for each in reversed(adds.objects)]
        self._plan += TransferPlan(
            num_blocks=len(blocks),
            num_objects=len(objects),
            num_records=sum([adds.record_count for adds in additions]),
            bytes_in_raw_blocks=sum(map(len, raw_blocks)),
            bytes_in_raw_objects=sum([each.size for each in objects]),
        )
        for each in objects:  # one that an older block adds too counts as that one's
            self._newest_first.pop(each, None)
            self._newest_first[each] = None
        self.prev_block_hash = additions[-1].prev_block_hash

    def result(self, begin_after: Multihash | None) -> WalkedInterval:
        packed = Packed(self._plan, self._packer.size, self._packer.finish())
        return WalkedInterval(packed, begin_after, tuple(reversed(self._newest_first)))
