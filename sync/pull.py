"""Pull a dataset: the one entry point for both protocols.

Whatever the source is, the order is the same: blocks are checked as a continuation of what is here, objects are fetched
and proved, blocks are stored, the head moves last. Pulling again after a failure fetches only what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

import aiohttp

from opendatafabric.block_ref import HEAD
from opendatafabric.chain.objects import ObjectFile
from opendatafabric.errors import ChainsDiverged, DatasetNotFound
from opendatafabric.limits import FOLLOW_BLOCKS_MAX
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.http.refs import HttpRefStore
from storage.ipfs.access import IpfsAccess
from storage.open import Connection, open_dataset
from storage.progress import BLOCKS, Progress, silent
from sync.conversations import in_conversations
from sync.object_requests import Expired
from sync.objects import Counter, Downloads, in_parallel
from sync.packed import Examined, PackedBlocks
from sync.plan import TransferPlan
from sync.remote import Protocol, RemoteLocation
from sync.simple import copy_chain
from sync.smart.connect import open_conversation, token_headers
from sync.smart.driver import World, run_script
from sync.smart.pull import AppendPack, DownloadObjects, ExaminePack, TakePlan, pull_client
from sync.transfer import TransferOptions, TransferResult, TransferTarget, seed_of, state_before

_DEFAULTS: Final = TransferOptions()


async def pull_dataset(
    session: aiohttp.ClientSession,
    source: RemoteLocation,
    target: TransferTarget,
    *,
    token: str | None = None,
    ipfs: IpfsAccess | None = None,
    options: TransferOptions = _DEFAULTS,
    progress: Progress = silent,
) -> TransferResult:
    """Bring ``target`` up to the head of ``source``; ``ipfs`` is how to reach sources that lie there.

    Raises:
        DatasetNotFound, AuthenticationRequired, AccessDenied, PeerUnavailable: the source cannot be had.
        ChainsDiverged, SeedConflict: the chains do not fit, and ``force`` is off or does not help.
        ChainError, HashMismatch, SizeMismatch, ObjectNotFound: the source does not hold what it claims.
        RefConflict: somebody moved the target's head meanwhile.
    """
    if source.protocol is Protocol.SIMPLE:
        connection = Connection(session, token_headers(token), ipfs)
        return await copy_chain(open_dataset(source.url, connection), target, options=options, progress=progress)
    pulling = _SmartPull(session, target, options, progress)
    return await in_conversations(lambda: pulling.run(source, token))


class _SmartPull:
    def __init__(
        self, session: aiohttp.ClientSession, target: TransferTarget, options: TransferOptions, progress: Progress
    ) -> None:
        self._session, self._target, self._options, self._progress = session, target, options, progress
        self._dataset: Dataset | None = None
        self._head: Multihash | None = None
        self._base: Multihash | None = None
        self._examined: Examined | None = None
        self._plan = TransferPlan()
        self._old_heads: list[Multihash | None] = []
        self._moved: list[Counter] = []
        self._held = AsyncExitStack()

    async def run(self, source: RemoteLocation, token: str | None) -> TransferResult:
        """One conversation."""
        source_head = await HttpRefStore(self._session, source.url, token_headers(token)).read(HEAD)
        if source_head is None:
            raise DatasetNotFound(f"there is no dataset at {source.url}, or not for this token")
        self._dataset = await self._target.find()
        self._head = None if self._dataset is None else await self._dataset.head()
        self._old_heads.append(self._head)
        world: World = {
            TakePlan: self._take_plan,
            ExaminePack: self._examine,
            DownloadObjects: self._download,
            AppendPack: self._append,
        }
        options = self._options
        script = pull_client(begin_after=options.since or self._head, stop_at=options.stop_at, force=options.force)
        new_head: Multihash | None = source_head
        if source_head != self._head or options.since is not None or options.stop_at is not None:
            async with self._held, open_conversation(self._session, source, "pull", token) as conversation:
                found = await run_script(script, conversation, world)
            new_head = found or self._head
        moved = sum(counter.done for counter in self._moved)
        return TransferResult(self._old_heads[0], new_head, self._plan, moved, options.dry_run)

    async def _take_plan(self, effect: TakePlan) -> bool:
        if effect.plan.num_blocks > 0:  # else a conversation before this one was cut after its end
            self._plan = effect.plan
        return not self._options.dry_run

    async def _examine(self, effect: ExaminePack) -> Sequence[ObjectFile]:
        first = await asyncio.to_thread(effect.pack.first)
        state = await state_before(self._dataset, first, force=self._options.force)
        total = self._plan.num_blocks
        self._base = first.prev_block_hash
        self._examined = await asyncio.to_thread(
            effect.pack.examine, state, on_block=lambda count: self._progress(BLOCKS, count, total)
        )
        await asyncio.to_thread(self._require_own_head, effect.pack, first.prev_block_hash)
        if self._dataset is None:
            self._dataset = await self._target.create(seed_of(first).dataset_id, self._options.visibility)
        if self._options.metadata_only:
            return ()
        await self._held.enter_async_context(self._dataset.held(self._examined.files))
        missing = await self._dataset.missing_objects(self._examined.files)
        if self._options.admit is not None:
            await self._options.admit(missing)
        self._moved.append(Counter(self._progress, missing))
        return missing

    def _require_own_head(self, pack: PackedBlocks, base: Multihash | None) -> None:
        """What comes must contain what is here, or a pull would drop blocks unasked."""
        if self._head in (None, base) or self._options.force:
            return
        if all(block.hash != self._head for block in pack.blocks()):
            raise ChainsDiverged("the remote chain does not contain the local head", expected=self._head)

    async def _download(self, effect: DownloadObjects) -> Sequence[ObjectFile]:
        assert self._dataset is not None
        downloads = Downloads(self._session, self._dataset, self._moved[-1])
        wanted = {strategy.object_file.to_file(): strategy.download_from for strategy in effect.strategies}
        expired: list[ObjectFile] = []

        async def fetch(file: ObjectFile) -> None:
            try:
                await downloads.fetch(file, wanted[file])
            except Expired:
                expired.append(file)

        await in_parallel(wanted, fetch)
        return expired

    async def _append(self, effect: AppendPack) -> Multihash:
        assert self._dataset is not None
        assert self._examined is not None
        await self._dataset.publish(
            effect.pack.batches(FOLLOW_BLOCKS_MAX),
            files=() if self._options.metadata_only else self._examined.files,
            base=self._base,
            expected_head=self._head,
            new_head=self._examined.head,
            state=self._examined.state,
        )
        return self._examined.head
