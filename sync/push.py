"""Push a dataset: the one entry point, to servers by the smart protocol and to folders by writing.

After the server has confirmed, its head is read back: only a head that moved is success. A conversation that broke
off, or an upload address that expired, leads to another conversation; what arrived already is skipped then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import aiohttp

from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.chain.objects import ObjectFile
from opendatafabric.errors import ChainsDiverged, DatasetNotFound, OdfError, RefConflict, UnsupportedOperation
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.http.refs import HttpRefStore
from storage.open import local_folder, open_dataset
from storage.progress import Progress, silent
from sync.conversations import in_conversations
from sync.intervals import NOTHING, WalkedInterval, walk_interval
from sync.objects import Counter, Uploads, in_parallel
from sync.remote import Protocol, RemoteLocation
from sync.simple import copy_chain
from sync.smart.connect import open_conversation, token_headers
from sync.smart.driver import Conversation, World, run_script
from sync.smart.messages import MetadataBlocksBatch, ProgressRequest, PushStrategy
from sync.smart.push import PackPush, StartUploads, UploadsOrAsked, push_client
from sync.transfer import DatasetTarget, TransferOptions, TransferResult

_DEFAULTS: Final = TransferOptions()
_COMMIT_WAITS_S: Final = (0.1, 0.4, 1.5, 5.0)
"""After a confirmation with the head still in its old place: the server may be at work yet."""


async def push_dataset(
    session: aiohttp.ClientSession,
    dataset: Dataset,
    target: RemoteLocation,
    *,
    token: str | None = None,
    options: TransferOptions = _DEFAULTS,
    progress: Progress = silent,
) -> TransferResult:
    """Bring ``target`` up to the head of ``dataset``, making it if there is none.

    Raises:
        AuthenticationRequired, AccessDenied, PeerUnavailable: the target cannot be had.
        ChainsDiverged: the target's head is not below ours and ``force`` is off.
        RefConflict, RefCollision, NameCollision, SeedConflict, TransferRejected: the target refused.
        UnsupportedOperation: a target that can only be read.
    """
    if target.protocol is Protocol.SIMPLE:
        return await _push_to_folder(dataset, target, options, progress)
    pushing = _SmartPush(session, dataset, options, progress)
    return await in_conversations(lambda: pushing.run(target, token))


async def _push_to_folder(
    dataset: Dataset, target: RemoteLocation, options: TransferOptions, progress: Progress
) -> TransferResult:
    if target.is_web:
        raise UnsupportedOperation(f"{target.url} can only be read", hint=f"push to odf+{target.url}")
    if not target.is_in_s3:
        await asyncio.to_thread(local_folder(target.url).mkdir, parents=True, exist_ok=True)
    return await copy_chain(dataset, DatasetTarget(open_dataset(target.url)), options=options, progress=progress)


async def _interval(dataset: Dataset, remote_head: Multihash | None, options: TransferOptions) -> WalkedInterval:
    head = await dataset.head()
    try:
        return await walk_interval(dataset, head, remote_head, force=options.force)
    except ChainsDiverged as error:
        raise ChainsDiverged(
            "the remote dataset has blocks that are not here",
            expected=head,
            found=remote_head,
            hint="pull first; --force replaces the remote chain",
        ) from error


async def _is_staged(refs: HttpRefStore, before: Multihash | None, expected: Multihash) -> bool:
    """Whether the target has a gate, so that its head moves later. Otherwise the head alone proves a push: a question
    about progress that crossed our last word looks like the confirmation.

    Raises:
        RefConflict: what was pushed is neither the head nor staged.
    """
    found = await refs.read(HEAD)
    for wait_s in _COMMIT_WAITS_S:
        if found != before:
            break
        if await _staged_head(refs) == expected:
            return True
        await asyncio.sleep(wait_s)
        found = await refs.read(HEAD)
    if found != expected:
        raise RefConflict("the push was confirmed and the remote head is another one", expected=expected, found=found)
    return False


async def _staged_head(refs: HttpRefStore) -> Multihash | None:
    try:
        return await refs.read(STAGING)
    except OdfError:  # servers need not know that ref
        return None


class _SmartPush:
    def __init__(
        self, session: aiohttp.ClientSession, dataset: Dataset, options: TransferOptions, progress: Progress
    ) -> None:
        self._session, self._dataset, self._options, self._progress = session, dataset, options, progress
        self._interval = NOTHING
        self._files: Sequence[ObjectFile] = ()
        self._begun: TransferResult | None = None
        self._moved: list[Counter] = []
        self._uploads: asyncio.Task[None] | None = None
        self._conversation: Conversation | None = None

    async def run(self, target: RemoteLocation, token: str | None) -> TransferResult:
        """One conversation, if there is something to send."""
        local_head = await self._dataset.head()
        if local_head is None:
            raise DatasetNotFound("the dataset has no head yet: there is nothing to push")
        refs = HttpRefStore(self._session, target.url, token_headers(token))
        remote_head = await refs.read(HEAD)
        self._interval = await _interval(self._dataset, remote_head, self._options)
        self._files = await asyncio.to_thread(self._interval.files)
        found = TransferResult(remote_head, local_head, self._interval.plan, dry_run=self._options.dry_run)
        self._begun = self._begun or found
        if not found.up_to_date and not found.dry_run:
            await self._converse(target, token, remote_head)
            staged = await _is_staged(refs, remote_head, local_head)
            self._begun = replace(self._begun, staged=staged)
        # A conversation before this one may have moved the head and been cut before it could say so.
        return replace(self._begun, new_head=local_head, objects_moved=sum(counter.done for counter in self._moved))

    async def _converse(self, target: RemoteLocation, token: str | None, remote_head: Multihash | None) -> None:
        script = push_client(
            current_head=remote_head,
            plan=self._interval.plan,
            files=self._files,
            force=self._options.force,
            visibility=self._options.visibility,
        )
        self._moved.append(Counter(self._progress, self._files))
        world: World = {PackPush: self._pack, StartUploads: self._start, UploadsOrAsked: self._uploads_or_asked}
        async with open_conversation(self._session, target, "push", token) as conversation:
            self._conversation = conversation
            try:
                await run_script(script, conversation, world)
            finally:
                await self._give_up()

    async def _pack(self, _: PackPush) -> MetadataBlocksBatch:
        assert self._conversation is not None
        return self._interval.packed.batch(base64=self._conversation.channel.peer_reads_base64)

    async def _start(self, effect: StartUploads) -> None:
        self._uploads = asyncio.create_task(self._upload_all(effect.strategies))

    async def _upload_all(self, strategies: Sequence[PushStrategy]) -> None:
        uploads = Uploads(self._session, self._dataset, self._moved[-1])
        wanted = {
            strategy.object_file.to_file(): strategy.upload_to
            for strategy in strategies
            if strategy.upload_to is not None
        }

        async def send(file: ObjectFile) -> None:
            await uploads.send(file, wanted[file])

        await in_parallel(wanted, send)

    async def _uploads_or_asked(self, _: UploadsOrAsked) -> int | None:
        assert self._uploads is not None
        assert self._conversation is not None
        await asyncio.wait({self._uploads, self._conversation.peek()}, return_when=asyncio.FIRST_COMPLETED)
        if self._uploads.done():
            self._uploads.result()
            return None
        await self._conversation.receive(ProgressRequest)
        return self._moved[-1].done

    async def _give_up(self) -> None:
        if self._uploads is not None:
            self._uploads.cancel()
            await asyncio.gather(self._uploads, return_exceptions=True)
