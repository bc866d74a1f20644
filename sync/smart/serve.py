"""The serving end of both conversations over a dataset: what a request handler calls.

Who may call is decided before; where objects are fetched from and put to, the caller says through ``ObjectUrls``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Protocol

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.chain.state import ChainState
from opendatafabric.errors import (
    BlockNotFound,
    ChainError,
    ChainsDiverged,
    ProtocolViolation,
    SeedConflict,
    StorageError,
    UnsupportedOperation,
)
from opendatafabric.limits import DERIVED_IN_MEMORY_BYTES_MAX, FOLLOW_BLOCKS_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import Seed
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.leases import held_head
from storage.memory import MemoryDerivedStore
from storage.protocols import DerivedStore
from sync.intervals import hashes_down_to, pack_interval, plan_interval
from sync.packed import Examined, PackedBlocks
from sync.smart.channels import Channel
from sync.smart.driver import Conversation, World, run_script
from sync.smart.messages import MetadataBlocksBatch, TransferUrl
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
from sync.smart.signed_urls import SignedUrls
from sync.transfer import TransferTarget

_PLANS_MAX = 3


class ObjectUrls(Protocol):
    """Addresses for the objects of one dataset, good for whoever holds this conversation."""

    def download_url(self, file: ObjectFile) -> TransferUrl: ...

    def upload_url(self, file: ObjectFile) -> TransferUrl: ...


async def serve_pull(
    channel: Channel,
    dataset: Dataset,
    urls: ObjectUrls,
    *,
    packs: DerivedStore | None = None,
    signed: SignedUrls | None = None,
) -> PullOutcome:
    """Answer one pull conversation to its end.

    ``packs`` may be shared, else there are some for this one alone; ``signed`` addresses go before ``urls``.
    """
    own_packs = packs or MemoryDerivedStore(bytes_max=DERIVED_IN_MEMORY_BYTES_MAX)
    served = _ServedPull(dataset, urls, own_packs, signed, base64=channel.peer_reads_base64)
    world: World = {PlanInterval: served.plan, PackInterval: served.pack, DownloadUrls: served.download_urls}
    async with served.held:
        return await run_script(pull_server(), Conversation(channel), world)


StillAllowed = Callable[[], Awaitable[None]]
"""Raises when the caller may do it no longer; awaited right before what was pushed becomes visible."""

MakeRoom = Callable[[Sequence[ObjectFile], int], Awaitable[None]]
"""Told which objects are to come and how many bytes the blocks take, before anything comes; refuses by raising."""

HeadMoved = Callable[[Multihash | None, Multihash], Awaitable[None]]
"""Told the head before and the head now; awaited before the client hears of it."""


async def serve_push(
    channel: Channel,
    target: TransferTarget,
    urls: ObjectUrls,
    *,
    signed: SignedUrls | None = None,
    still_allowed: StillAllowed | None = None,
    make_room: MakeRoom | None = None,
    on_head_moved: HeadMoved | None = None,
) -> PushOutcome:
    """Take one push conversation to its end. Whatever goes wrong, the dataset is what it was.

    Who may push is decided before, and may have changed when all has arrived: ``still_allowed`` says so. A caller that
    is cancelled while the head moves leaves the publishing and ``on_head_moved`` to finish.
    """
    served = _ServedPush(
        target,
        urls,
        signed=signed,
        still_allowed=still_allowed,
        make_room=make_room,
        on_head_moved=on_head_moved,
    )
    world: World = {
        ReadHead: served.read_head,
        ExaminePush: served.examine,
        EnsureTarget: served.ensure_target,
        UploadUrls: served.upload_urls,
        CommitPush: served.commit,
    }
    async with served.held:
        return await run_script(push_server(), Conversation(channel), world)


class _ServedPull:
    def __init__(
        self, dataset: Dataset, urls: ObjectUrls, packs: DerivedStore, signed: SignedUrls | None, *, base64: bool
    ) -> None:
        self._dataset, self._urls, self._packs, self._signed = dataset, urls, packs, signed
        self._base64 = base64
        self.held = AsyncExitStack()

    async def plan(self, effect: PlanInterval) -> ChainInterval:
        begin_after, stop_at = effect.begin_after, effect.stop_at
        for _ in range(_PLANS_MAX):
            head = await self._dataset.head()
            interval = await plan_interval(self._dataset, begin_after, stop_at, force=effect.force, packs=self._packs)
            if head is None or interval.plan.num_blocks == 0:
                break
            await self._hold(head)
            if await self._dataset.head() == head:
                break  # the chain was whole when it was held; else a forced push may have come between
        return interval

    async def _hold(self, head: Multihash) -> None:
        with suppress(StorageError, UnsupportedOperation):  # where nothing can be written, nothing is deleted either
            await self.held.enter_async_context(held_head(self._dataset.writable_objects().leases, head))

    async def pack(self, effect: PackInterval) -> MetadataBlocksBatch:
        packed = await pack_interval(self._dataset, effect.interval, packs=self._packs)
        return packed.batch(base64=self._base64)

    async def download_urls(self, effect: DownloadUrls) -> Sequence[TransferUrl]:
        signed = {} if self._signed is None else await self._signed.downloads(self._dataset, effect.files)
        return [signed.get(file) or self._urls.download_url(file) for file in effect.files]


class _ServedPush:
    """What one push has established so far."""

    def __init__(
        self,
        target: TransferTarget,
        urls: ObjectUrls,
        *,
        signed: SignedUrls | None,
        still_allowed: StillAllowed | None,
        make_room: MakeRoom | None,
        on_head_moved: HeadMoved | None,
    ) -> None:
        self._target, self._urls, self._signed = target, urls, signed
        self._still_allowed, self._make_room, self._on_head_moved = still_allowed, make_room, on_head_moved
        self._dataset: Dataset | None = None
        self._head: Multihash | None = None
        self._pack: PackedBlocks | None = None
        self._examined: Examined | None = None
        self._base: Multihash | None = None
        self.held = AsyncExitStack()

    async def read_head(self, _: ReadHead) -> Multihash | None:
        self._dataset = await self._target.find()
        self._head = None if self._dataset is None else await self._dataset.head()
        return self._head

    async def examine(self, effect: ExaminePush) -> None:
        first = await asyncio.to_thread(effect.pack.first)
        state = await self._state_before(first, force=effect.force)
        self._pack, self._base = effect.pack, first.prev_block_hash
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
        elif base not in await hashes_down_to(self._dataset, self._head, base):
            raise BlockNotFound(f"block {base} is not on the chain of the dataset")
        return await self._dataset.chain_state(base)

    async def ensure_target(self, effect: EnsureTarget) -> None:
        if self._dataset is None or self._head is None:
            assert self._pack is not None
            seed = (await asyncio.to_thread(self._pack.first)).event
            assert isinstance(seed, Seed)
            self._dataset = await self._target.create(seed.dataset_id, effect.visibility)
        assert self._examined is not None
        await self.held.enter_async_context(self._dataset.held(self._examined.files))
        if self._make_room is not None:
            missing = await self._dataset.missing_objects(self._examined.files)
            await self._make_room(missing, self._examined.block_bytes)

    async def upload_urls(self, effect: UploadUrls) -> Sequence[TransferUrl | None]:
        assert self._dataset is not None
        assert self._examined is not None
        strange = set(effect.files) - set(self._examined.files)
        if strange:
            raise ProtocolViolation(f"object {next(iter(strange)).physical_hash} is named by no block of this push")
        missing = set(await self._dataset.missing_objects(effect.files))
        signed = {} if self._signed is None else await self._signed.uploads(self._dataset, list(missing))
        return [(signed.get(file) or self._urls.upload_url(file)) if file in missing else None for file in effect.files]

    async def commit(self, _: CommitPush) -> Multihash:
        # A client that vanishes now must not part the head that moved from what is written down about it.
        return await asyncio.shield(asyncio.ensure_future(self._publish()))

    async def _publish(self) -> Multihash:
        assert self._dataset is not None
        assert self._pack is not None
        assert self._examined is not None
        if self._signed is not None:
            await self._signed.publish(self._dataset)
        if self._still_allowed is not None:
            await self._still_allowed()
        await self._dataset.publish(
            _batches(self._pack),
            files=self._examined.files,
            base=self._base,
            expected_head=self._head,
            new_head=self._examined.head,
            state=self._examined.state,
        )
        if self._on_head_moved is not None:
            await self._on_head_moved(self._head, self._examined.head)
        return self._examined.head


def _batches(pack: PackedBlocks) -> Iterable[dict[str, bytes]]:
    return pack.batches(FOLLOW_BLOCKS_MAX)
