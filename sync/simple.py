"""The simple transfer protocol: copy a chain by walking what lies there, from and to any stores.

Follows the reference's client: walk back from the source's head to the target's, objects next, blocks oldest first, the
head last. Nothing is asked of the source but to be read, so any web server over a dataset folder will do.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from opendatafabric.errors import (
    BlockNotFound,
    ChainsDiverged,
    DatasetNotFound,
    StorageError,
    UnsupportedOperation,
)
from opendatafabric.layout import block_key
from opendatafabric.limits import FOLLOW_BLOCKS_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.leases import held_head
from storage.progress import BLOCKS, Progress, silent
from sync.objects import copy_objects
from sync.packed import examine_blocks
from sync.plan import plan_transfer
from sync.transfer import TransferOptions, TransferResult, TransferTarget, seed_of, state_before

_DEFAULTS: Final = TransferOptions()
_HOLDS_MAX: Final = 3


async def copy_chain(
    source: Dataset, target: TransferTarget, *, options: TransferOptions = _DEFAULTS, progress: Progress = silent
) -> TransferResult:
    """Bring ``target`` up to the head of ``source``; errors as ``pull_dataset``."""
    source_head = options.stop_at or await source.head()
    if source_head is None:
        raise DatasetNotFound("there is no dataset at the source")
    dataset = await target.find()
    old_head = None if dataset is None else await dataset.head()
    if source_head == old_head and options.since is None:
        return TransferResult(old_head, old_head)
    blocks = await _blocks_to_copy(
        source, _Ends(source_head, old_head, options.since), force=options.force, progress=progress
    )
    plan = await asyncio.to_thread(plan_transfer, blocks)
    if options.dry_run or not blocks:
        return TransferResult(old_head, old_head, plan, dry_run=options.dry_run)
    state = await state_before(dataset, blocks[0], force=options.force)
    examined = await asyncio.to_thread(examine_blocks, blocks, state)
    if dataset is None:
        dataset = await target.create(seed_of(blocks[0]).dataset_id, options.visibility)
    files = () if options.metadata_only else examined.files
    rest = iter(blocks)
    batches = iter(lambda: {block_key(block.hash): block.raw for block in islice(rest, FOLLOW_BLOCKS_MAX)}, {})
    async with dataset.held(files):
        missing = await dataset.missing_objects(files)
        if options.admit is not None:
            await options.admit(missing)
        await copy_objects(source.objects, dataset.writable_objects(), missing, progress=progress)
        await dataset.publish(
            batches,
            files=files,
            base=blocks[0].prev_block_hash,
            expected_head=old_head,
            new_head=examined.head,
            state=examined.state,
        )
    return TransferResult(old_head, examined.head, plan, len(missing))


async def copy_held_chain(
    source: Dataset, target: TransferTarget, *, options: TransferOptions = _DEFAULTS, progress: Progress = silent
) -> TransferResult:
    """As ``copy_chain``, for a source whose garbage others may collect meanwhile: what its head leads to is held."""
    async with AsyncExitStack() as held:
        head = await source.head()
        for _ in range(_HOLDS_MAX):
            if head is None:
                break
            with suppress(StorageError, UnsupportedOperation):  # what cannot be written is not collected
                await held.enter_async_context(held_head(source.writable_objects().leases, head))
            held_at, head = head, await source.head()
            if head == held_at:
                break  # the chain was whole when it was held; else a forced push may have come between
        return await copy_chain(source, target, options=replace(options, stop_at=head), progress=progress)


@dataclass(frozen=True, slots=True)
class _Ends:
    source_head: Multihash
    target_head: Multihash | None
    since: Multihash | None


async def _blocks_to_copy(source: Dataset, ends: _Ends, *, force: bool, progress: Progress) -> list[HashedBlock]:
    """What follows ``since`` or the target's head, oldest first; with ``force`` the whole chain if they do not meet."""
    begin_after = ends.since or ends.target_head
    blocks: list[HashedBlock] = []
    try:
        async for batch in source.walk(ends.source_head, stop_before=begin_after):
            blocks.extend(batch)
            progress(BLOCKS, len(blocks), None)
    except BlockNotFound as error:
        raise DatasetNotFound(f"the source is incomplete: {error.message}") from error
    blocks.reverse()
    if begin_after is None or force or (blocks and blocks[0].prev_block_hash == begin_after):
        return blocks
    if ends.source_head == begin_after:
        return []
    raise ChainsDiverged(
        "the source does not continue the local chain",
        expected=begin_after,
        found=ends.source_head,
        hint="the chains diverged or the local one is ahead; force replaces the local chain",
    )
