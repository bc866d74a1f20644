"""The serving end of both conversations over a dataset: what a request handler calls.

Who may call is decided before; where objects are fetched from and put to, the caller says through ``ObjectUrls``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_pack import BlockPacker
from opendatafabric.did import DatasetId
from opendatafabric.errors import (
    BlockNotFound,
    ChainError,
    ChainsDiverged,
    LimitExceeded,
    ProtocolViolation,
    SeedConflict,
)
from opendatafabric.limits import FOLLOW_BLOCKS_MAX, MESSAGE_BYTES_MAX, PACK_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import Seed
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from sync.packed import Examined, PackedBlocks
from sync.plan import TransferPlan, plan_transfer
from sync.smart.channels import Channel
from sync.smart.driver import Conversation, World, run_script
from sync.smart.messages import MetadataBlocksBatch, TransferUrl, Visibility
from sync.smart.pull import ChainInterval, DownloadUrls, PackInterval, PlanInterval, PullOutcome, pull_server
from sync.smart.push import (
    CommitPush,
    EnsureTarget,
    ExaminePush,
    PushOutcome,
    ReadHead,
    UploadUrls,
    push_server,
)

_JSON_CHARS_PER_BYTE = 3.6
"""What a byte of a pack costs on the wire as one of an array of numbers."""


class ObjectUrls(Protocol):
    """Addresses for the objects of one dataset, good for whoever holds this conversation."""

    def download_url(self, file: ObjectFile) -> TransferUrl: ...

    def upload_url(self, file: ObjectFile) -> TransferUrl: ...


class PushTarget(Protocol):
    """Where a push goes: a dataset that is there, or the place for one that is to be made."""

    async def find(self) -> Dataset | None:
        """The dataset, if it is visible."""
        ...

    async def create(self, dataset_id: DatasetId, visibility: Visibility) -> Dataset:
        """A dataset that stays invisible until its head is set; making the same one again is fine.

        Raises:
            RefCollision, NameCollision: as they say.
        """
        ...


async def serve_pull(channel: Channel, dataset: Dataset, urls: ObjectUrls) -> PullOutcome:
    """Answer one pull conversation to its end."""
    served = _ServedPull(dataset, urls, base64=channel.peer_reads_base64)
    world: World = {PlanInterval: served.plan, PackInterval: served.pack, DownloadUrls: served.download_urls}
    return await run_script(pull_server(), Conversation(channel), world)


async def serve_push(channel: Channel, target: PushTarget, urls: ObjectUrls) -> PushOutcome:
    """Take one push conversation to its end. Whatever goes wrong, the dataset is what it was."""
    served = _ServedPush(target, urls)
    world: World = {
        ReadHead: served.read_head,
        ExaminePush: served.examine,
        EnsureTarget: served.ensure_target,
        UploadUrls: served.upload_urls,
        CommitPush: served.commit,
    }
    return await run_script(push_server(), Conversation(channel), world)


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
    if start != head and start not in await _hashes_down_to(dataset, head, start):
        raise BlockNotFound(f"block {start} is not on the chain of the dataset")
    hashes: list[Multihash] = []
    plan = TransferPlan()
    last: HashedBlock | None = None
    async for blocks in dataset.walk(start, stop_before=begin_after):
        hashes.extend(block.hash for block in blocks)
        plan += await asyncio.to_thread(plan_transfer, blocks)
        last = blocks[-1]
    if begin_after is not None and not force and (last is None or last.prev_block_hash != begin_after):
        raise ChainsDiverged("the interval begins behind no block of the chain", expected=begin_after, found=start)
    return ChainInterval(tuple(reversed(hashes)), plan)


async def _hashes_down_to(dataset: Dataset, head: Multihash, wanted: Multihash) -> set[Multihash]:
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
    size_max = PACK_BYTES_MAX if base64 else int(MESSAGE_BYTES_MAX / _JSON_CHARS_PER_BYTE)
    if len(payload) > size_max:
        raise LimitExceeded(
            f"{len(hashes)} blocks are more than one message can carry",
            expected=f"at most {size_max} bytes packed",
            found=len(payload),
            hint="use odf, which packs tighter, or pull in steps with --stop-at",
        )
    return MetadataBlocksBatch(num_blocks=len(hashes), encoding=encoding, payload=payload)


class _ServedPull:
    def __init__(self, dataset: Dataset, urls: ObjectUrls, *, base64: bool) -> None:
        self._dataset, self._urls, self._base64 = dataset, urls, base64

    async def plan(self, effect: PlanInterval) -> ChainInterval:
        return await plan_interval(self._dataset, effect.begin_after, effect.stop_at, force=effect.force)

    async def pack(self, effect: PackInterval) -> MetadataBlocksBatch:
        return await pack_interval(self._dataset, effect.interval.hashes, base64=self._base64)

    async def download_urls(self, effect: DownloadUrls) -> Sequence[TransferUrl]:
        return [self._urls.download_url(file) for file in effect.files]


class _ServedPush:
    """What one push has established so far."""

    def __init__(self, target: PushTarget, urls: ObjectUrls) -> None:
        self._target, self._urls = target, urls
        self._dataset: Dataset | None = None
        self._head: Multihash | None = None
        self._pack: PackedBlocks | None = None
        self._examined: Examined | None = None

    async def read_head(self, _: ReadHead) -> Multihash | None:
        self._dataset = await self._target.find()
        self._head = None if self._dataset is None else await self._dataset.head()
        return self._head

    async def examine(self, effect: ExaminePush) -> None:
        first = await asyncio.to_thread(effect.pack.first)
        state = await self._state_before(first, force=effect.force)
        self._pack = effect.pack
        self._examined = await asyncio.to_thread(effect.pack.examine, state, canonical_only=True)
        if self._examined.block_count != effect.pack.count_max:
            raise ProtocolViolation(
                "the pack holds fewer blocks than announced",
                expected=effect.pack.count_max,
                found=self._examined.block_count,
            )

    async def _state_before(self, first: HashedBlock, *, force: bool) -> ChainState:
        base = first.prev_block_hash
        if self._dataset is None or self._head is None:
            if not isinstance(first.event, Seed):
                raise ChainError("a new dataset begins with its Seed", rule="B3", sequence_number=first.sequence_number)
            return ChainState.empty()
        if base == self._head:
            return await self._dataset.chain_state(base)
        if not force:
            raise ChainsDiverged(
                "the blocks do not continue the head of the dataset", expected=self._head, found=base or "a Seed"
            )
        if base is None:
            if first.event != await self._dataset.seed():
                raise SeedConflict("the id or kind of a dataset cannot be changed")
        elif base not in await _hashes_down_to(self._dataset, self._head, base):
            raise BlockNotFound(f"block {base} is not on the chain of the dataset")
        return await self._dataset.chain_state(base)

    async def ensure_target(self, effect: EnsureTarget) -> None:
        if self._dataset is None or self._head is None:
            assert self._pack is not None
            seed = (await asyncio.to_thread(self._pack.first)).event
            assert isinstance(seed, Seed)
            self._dataset = await self._target.create(seed.dataset_id, effect.visibility)

    async def upload_urls(self, effect: UploadUrls) -> Sequence[TransferUrl | None]:
        assert self._dataset is not None
        assert self._examined is not None
        strange = set(effect.files) - set(self._examined.files)
        if strange:
            raise ProtocolViolation(f"object {next(iter(strange)).physical_hash} is named by no block of this push")
        missing = set(await self._dataset.missing_objects(effect.files))
        return [self._urls.upload_url(file) if file in missing else None for file in effect.files]

    async def commit(self, _: CommitPush) -> Multihash:
        assert self._dataset is not None
        assert self._pack is not None
        assert self._examined is not None
        await self._dataset.publish(
            _batches(self._pack),
            files=self._examined.files,
            expected_head=self._head,
            new_head=self._examined.head,
            state=self._examined.state,
        )
        return self._examined.head


def _batches(pack: PackedBlocks) -> Iterable[dict[str, bytes]]:
    return pack.batches(FOLLOW_BLOCKS_MAX)
