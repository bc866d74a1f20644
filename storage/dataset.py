"""A dataset: one chain of blocks, the objects it names and its refs, over any stores.

Every block read here is checked against its hash. Appending keeps the order that the whole house relies on: rules of
the chain, presence of every object, blocks, and last the ref; a crash in between leaves garbage at worst. Which
datasets exist and what they are called belongs to ``repository.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import cast

from opendatafabric.block_ref import HEAD
from opendatafabric.chain.objects import ObjectFile, ObjectKind, objects_of
from opendatafabric.chain.state import ChainState
from opendatafabric.chain.validate import validate_chain
from opendatafabric.errors import (
    ChainError,
    ChainsDiverged,
    NotFound,
    ObjectNotFound,
    OdfError,
    RefNotFound,
    SeedConflict,
    SizeMismatch,
    UnsupportedOperation,
)
from opendatafabric.layout import block_key, checkpoint_key, data_key
from opendatafabric.limits import BLOCK_BYTES_MAX, OBJECT_CHECKS_AT_ONCE
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import Seed
from opendatafabric.multihash import Multihash
from storage.chain_states import ChainStates
from storage.chain_walk import (
    AddingBlock,
    WalkedHeader,
    block_not_found,
    checked,
    read_each,
    read_header,
    read_whole,
    walk_additions,
    walk_back,
)
from storage.head_moves import HeadMove, move_head
from storage.held_chain import held_chain
from storage.leases import pinned
from storage.protocols import ObjectReader, ObjectStore, RefStore
from storage.ref_text import ref_conflict


def object_key(file: ObjectFile) -> str:
    """Where a dataset keeps ``file``."""
    return (data_key if file.kind is ObjectKind.DATA_SLICE else checkpoint_key)(file.physical_hash)


class Dataset:
    """Chain, objects and refs of one dataset. Cheap to make; ``states`` may be shared by any number of them."""

    def __init__(self, objects: ObjectReader, refs: RefStore, *, states: ChainStates | None = None) -> None:
        self.objects = objects
        self.refs = refs
        self._states = states or ChainStates()
        self._seed: Seed | None = None

    def over(self, objects: ObjectReader, refs: RefStore) -> Dataset:
        """The same dataset through other stores that lead to it."""
        return Dataset(objects, refs, states=self._states)

    # --- reading

    async def head(self, block_ref: str = HEAD) -> Multihash | None:
        """Where ``block_ref`` points, or ``None``."""
        return await self.refs.read(block_ref)

    async def read_raw_block(self, block_hash: Multihash) -> bytes:
        """The bytes of a block as they arrived, checked against the hash.

        Raises:
            BlockNotFound: not in the dataset.
            HashMismatch: damaged.
        """
        try:
            raw = await self.objects.read(block_key(block_hash), size_max=BLOCK_BYTES_MAX)
        except ObjectNotFound:
            raise block_not_found(block_hash) from None
        return checked(block_hash, raw)

    async def read_block(self, block_hash: Multihash) -> HashedBlock:
        """The block of that hash, decoded; errors as in ``read_raw_block`` and ``decode_block``."""
        return read_whole(block_hash, await self.read_raw_block(block_hash))

    async def has_block(self, block_hash: Multihash) -> bool:
        """Whether the block is stored; its bytes are not looked at."""
        try:
            await self.objects.stat(block_key(block_hash))
        except ObjectNotFound:
            return False
        return True

    def walk(self, head: Multihash, *, stop_before: Multihash | None = None) -> AsyncIterator[list[HashedBlock]]:
        """Batches of blocks from ``head`` back to the seed, newest first, ending before ``stop_before``.

        A ``stop_before`` that is not on the chain is never met: the walk ends at the seed and the caller sees that.

        Raises:
            BlockNotFound, HashMismatch, MalformedBlock: the chain is damaged.
        """
        return walk_back(self.objects, head, read_whole, stop_before=stop_before)

    def walk_headers(
        self, head: Multihash, *, stop_before: Multihash | None = None
    ) -> AsyncIterator[list[WalkedHeader]]:
        """As ``walk``, without decoding events: the whole chain in a few hundred bytes of memory a block."""
        return walk_back(self.objects, head, read_header, stop_before=stop_before)

    def read_blocks(self, hashes: Sequence[Multihash]) -> AsyncIterator[list[HashedBlock]]:
        """Batches of the named blocks in the order given; errors as in ``walk``."""
        return read_each(self.objects, hashes, read_whole)

    def walk_additions(
        self, head: Multihash, *, stop_before: Multihash | None = None
    ) -> AsyncIterator[list[AddingBlock]]:
        """As ``walk``, for the bytes of the blocks and what they add; nothing else in them is read."""
        return walk_additions(self.objects, head, stop_before=stop_before)

    async def seed(self) -> Seed:
        """The event of block 0.

        Raises:
            RefNotFound: the dataset has no head.
        """
        if self._seed is None:
            head = await self.head()
            if head is None:
                raise RefNotFound("the dataset has no head yet")
            self._seed = await self._seed_under(head)
        return self._seed

    async def chain_state(self, head: Multihash | None) -> ChainState:
        """What the chain up to and including ``head`` establishes; ``None`` is the empty chain."""
        if head is None:
            return ChainState.empty()
        state, unknown = await self._nearest_known_state(head)
        async for blocks in self.read_blocks(unknown):
            state = await asyncio.to_thread(_apply_all, state, blocks)
        self._states.put(head, state)
        return state

    def remember(self, state: ChainState) -> None:
        """Take what a chain establishes from somebody who found it out already."""
        if state.head is not None:
            self._states.put(state.head, state)

    async def _nearest_known_state(self, head: Multihash) -> tuple[ChainState, list[Multihash]]:
        unknown: list[Multihash] = []
        async for batch in self.walk_headers(head):
            for walked in batch:
                known = self._states.get(walked.hash)
                if known is not None:
                    return known, unknown[::-1]
                unknown.append(walked.hash)
        return ChainState.empty(), unknown[::-1]

    # --- objects

    async def missing_objects(self, files: Iterable[ObjectFile]) -> list[ObjectFile]:
        """Those of ``files`` that are not stored in the size the chain says; each once."""
        return [file for file, _ in await self._object_faults(files)]

    @asynccontextmanager
    async def held(self, files: Iterable[ObjectFile]) -> AsyncIterator[None]:
        """Inside, garbage collection takes none of ``files``: what is found stored stays; errors as ``pinned``."""
        async with pinned(self.writable_objects().leases, map(object_key, files)):
            yield

    async def _object_faults(self, files: Iterable[ObjectFile]) -> list[tuple[ObjectFile, OdfError]]:
        at_once = asyncio.Semaphore(OBJECT_CHECKS_AT_ONCE)

        async def check(file: ObjectFile) -> OdfError | None:
            async with at_once:
                return await self._object_fault(file)

        distinct = list(dict.fromkeys(files))
        faults = await asyncio.gather(*map(check, distinct))
        return [(file, fault) for file, fault in zip(distinct, faults, strict=True) if fault is not None]

    async def _object_fault(self, file: ObjectFile) -> OdfError | None:
        key = object_key(file)
        try:
            stored = await self.objects.stat(key)
        except ObjectNotFound:
            return ObjectNotFound(f"{key} is named by a block and not stored", hint="upload the object first")
        if stored.size != file.size:
            return SizeMismatch(f"{key} has another size than its block says", expected=file.size, found=stored.size)
        return None

    # --- writing

    async def append(
        self,
        blocks: Sequence[HashedBlock],
        *,
        expected_head: Multihash | None,
        force: bool = False,
        validate: bool = True,
        check_objects: bool = True,
        block_ref: str = HEAD,
    ) -> Multihash:
        """Put ``blocks``, oldest first, on the chain and move ``block_ref`` from ``expected_head`` to the last of them.

        They continue ``expected_head``, or with ``force`` any block of the dataset, or begin anew with the same seed.
        Nothing is visible before everything is proved: rules of the chain (unless ``validate`` is off), every named
        object present in its size (unless ``check_objects`` is off), blocks durable. Returns the new head.

        Raises:
            RefConflict: ``block_ref`` does not point to ``expected_head``.
            ChainsDiverged: the blocks do not continue ``expected_head`` and ``force`` is off.
            SeedConflict: forced blocks that lead to another seed.
            ChainError, HashMismatch, BlockNotFound, ObjectNotFound, SizeMismatch: the blocks do not hold.
            UnsupportedOperation: the stores are read only.
        """
        self.writable_objects()
        await self._require_head(block_ref, expected_head)
        if not blocks:
            raise ChainsDiverged("there is no block to append", expected=expected_head)
        base = blocks[0].prev_block_hash
        if base != expected_head and not force:
            raise _not_continuing(expected_head, base)
        await asyncio.to_thread(_check_links, blocks)
        state = await self._validated(blocks, base) if validate else None
        if base is not None and not validate and not await self.has_block(base):
            raise block_not_found(base)
        if base != expected_head and expected_head is not None:
            try:
                await self._check_same_seed(expected_head, blocks[0])
            except NotFound:  # somebody may have replaced the chain since, and a collection taken it
                await self._require_head(block_ref, expected_head)
                raise
        files = [file for block in blocks for file in objects_of(block)] if check_objects else []
        batch = {block_key(block.hash): block.raw for block in blocks}
        new_head = blocks[-1].hash
        await self.publish(
            (batch,),
            files=files,
            base=base,
            expected_head=expected_head,
            new_head=new_head,
            state=state,
            block_ref=block_ref,
        )
        return new_head

    async def publish(
        self,
        batches: Iterable[Mapping[str, bytes]],
        *,
        files: Iterable[ObjectFile],
        base: Multihash | None,
        expected_head: Multihash | None,
        new_head: Multihash,
        state: ChainState | None = None,
        block_ref: str = HEAD,
    ) -> None:
        """The end of every append, for blocks that were proved already: objects, blocks, ref, in this order.

        ``batches`` are raw blocks by key, taken one after another in a thread; they follow the block ``base``.
        ``files`` are all objects they add. Garbage collection takes none of it, nor anything below ``base``.

        Raises:
            ObjectNotFound, SizeMismatch: an object is not there.
            RefConflict, PolicyViolation: ``block_ref`` moved meanwhile, or may not; the blocks stay as garbage.
        """
        objects, distinct = self.writable_objects(), list(dict.fromkeys(files))
        rest = iter(batches)
        async with AsyncExitStack() as pins:
            await pins.enter_async_context(held_chain(objects, base, below=expected_head))
            await pins.enter_async_context(self.held(distinct))
            faults = await self._object_faults(distinct)
            if faults:
                raise faults[0][1]
            while (batch := await asyncio.to_thread(next, rest, None)) is not None:
                await pins.enter_async_context(pinned(objects.leases, batch))
                await objects.put_many(batch)
            move = HeadMove(block_ref, expected_head, new_head, continues=base == expected_head)
            await move_head(objects, self.refs, move)
        if state is not None:
            self._states.put(new_head, state)

    def writable_objects(self) -> ObjectStore:
        """The objects as a store; ``UnsupportedOperation`` where they can only be read."""
        if not self.objects.capabilities.writable:
            raise UnsupportedOperation("this dataset can only be read", hint="push to it by the smart protocol")
        return cast(ObjectStore, self.objects)

    async def _require_head(self, block_ref: str, expected_head: Multihash | None) -> None:
        actual_head = await self.head(block_ref)
        if actual_head != expected_head:
            raise ref_conflict(block_ref, expected_head, actual_head)

    async def _validated(self, blocks: Sequence[HashedBlock], base: Multihash | None) -> ChainState:
        return await asyncio.to_thread(validate_chain, blocks, await self.chain_state(base))

    async def _check_same_seed(self, expected_head: Multihash, first: HashedBlock) -> None:
        new_seed = first.event if first.prev_block_hash is None else await self._seed_under(first.prev_block_hash)
        old_seed = await self._seed_under(expected_head)
        if new_seed != old_seed:
            raise SeedConflict("the id or kind of a dataset cannot be changed", expected=old_seed, found=new_seed)

    async def _seed_under(self, head: Multihash) -> Seed:
        oldest = head
        async for batch in self.walk_headers(head):
            oldest = batch[-1].hash
        event = (await self.read_block(oldest)).event
        if not isinstance(event, Seed):
            raise ChainError("the chain does not begin with a Seed", rule="B3", sequence_number=0)
        return event


def _apply_all(state: ChainState, blocks: Sequence[HashedBlock]) -> ChainState:
    for block in blocks:
        state = state.apply(block)
    return state


def _check_links(blocks: Sequence[HashedBlock]) -> None:
    for block in blocks:
        checked(block.hash, block.raw)
    for previous, block in pairwise(blocks):
        if block.prev_block_hash != previous.hash:
            raise ChainError(
                "blocks to append are not linked to each other",
                rule="P0",
                sequence_number=block.sequence_number,
                expected=previous.hash,
                found=block.prev_block_hash,
            )


def _not_continuing(expected_head: Multihash | None, base: Multihash | None) -> ChainsDiverged:
    return ChainsDiverged(
        "the blocks do not continue the head of the dataset",
        expected=expected_head or "a Seed",
        found=base or "a Seed",
        hint="pull first, or repeat with force to replace the chain",
    )
