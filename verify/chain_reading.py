"""Reading a chain that may be damaged: the bytes of every block that can still be found, oldest first.

A sound chain is followed from the head. Where that breaks off (a block is missing, or its own pointer is damaged), the
stored blocks are listed once and the one with the next lower number takes over if there is exactly one: so that one
bad block does not hide the state of all the blocks before it. Nothing is judged here but what is needed to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from opendatafabric.codec.block_codec import read_block_header
from opendatafabric.errors import HashMismatch, OdfError
from opendatafabric.layout import BLOCKS, block_key, parse_key
from opendatafabric.limits import FOLLOW_BLOCKS_MAX, FOLLOW_BYTES_MAX
from opendatafabric.multihash import Multihash, physical_hash
from storage.protocols import ObjectReader


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """What lies under the key of a block: its bytes, or why there are none."""

    hash: Multihash
    raw: bytes | None
    error: OdfError | None = None


@dataclass(slots=True)
class Trace:
    """Hashes of a chain, newest first; ``interrupted`` tells why it does not reach a first block, where it does not."""

    hashes: list[Multihash] = field(default_factory=list)
    interrupted: str | None = None


async def trace_chain(reader: ObjectReader, head: Multihash) -> Trace:
    """Find the blocks of the chain that ends at ``head``. Reads every block once and keeps the hashes only."""
    trace = Trace()
    walker = _Walker(reader, trace)
    following: Multihash | None = head
    while following is not None:
        following = None if await walker.follow(following) else await walker.resume()
    return trace


async def read_stored(reader: ObjectReader, hashes: Sequence[Multihash]) -> AsyncIterator[list[StoredBlock]]:
    """Batches of what lies under the named keys, in that order; a batch ends by count or by bytes."""
    position = 0
    while position < len(hashes):
        batch = await _read_batch(reader, hashes[position : position + FOLLOW_BLOCKS_MAX])
        position += len(batch)
        yield batch


async def _read_batch(reader: ObjectReader, hashes: Sequence[Multihash]) -> list[StoredBlock]:
    batch: list[StoredBlock] = []
    size = 0

    def take(raw: bytes) -> str | None:
        nonlocal size
        batch.append(StoredBlock(hashes[len(batch)], raw))
        size += len(raw)
        return block_key(hashes[len(batch)]) if len(batch) < len(hashes) and size < FOLLOW_BYTES_MAX else None

    try:
        await reader.follow(block_key(hashes[0]), take, count_max=len(hashes))
    except OdfError as error:
        batch.append(StoredBlock(hashes[len(batch)], None, error))
    return batch


class _Walker:
    """Goes from block to block by the pointers of sound blocks, and finds another way where one is not sound."""

    def __init__(self, reader: ObjectReader, trace: Trace) -> None:
        self._reader = reader
        self._trace = trace
        self._sound: dict[Multihash, int] | None = None
        self._lost: set[Multihash] = set()
        self._number: int | None = None
        """Number of the last block, as far as it is known."""
        self._next: Multihash | None = None
        self._claimed: Multihash | None = None
        """Where a damaged block points: right, unless the damage is just there."""

    async def follow(self, start: Multihash) -> bool:
        """Walk from ``start``; whether the first block was reached."""
        self._next = start
        while self._next is not None:
            self._claimed = None
            try:
                await self._reader.follow(block_key(self._next), self._take, count_max=FOLLOW_BLOCKS_MAX)
            except OdfError:
                return False
        return True

    def _take(self, raw: bytes) -> str | None:
        assert self._next is not None
        header = read_block_header(raw)
        if physical_hash(raw) != self._next:
            self._claimed = header.prev_block_hash
            raise HashMismatch(f"{block_key(self._next)} is damaged")
        self._trace.hashes.append(self._next)
        self._number, self._next = header.sequence_number, header.prev_block_hash
        return None if self._next is None else block_key(self._next)

    async def resume(self) -> Multihash | None:
        """The block to go on with behind one that was lost, if it can be told."""
        assert self._next is not None
        self._trace.hashes.append(self._next)
        self._lost.add(self._next)
        self._number = None if self._number is None else self._number - 1
        if self._number == 0:
            return None
        sound = await self._sound_blocks()
        # Only sound blocks cannot form a circle.
        if self._claimed is not None and (self._claimed in sound or not sound) and self._claimed not in self._lost:
            return self._claimed
        wanted = max(sound.values(), default=0) if self._number is None else self._number - 1
        found = [each for each, number in sound.items() if number == wanted]
        if len(found) != 1:
            self._trace.interrupted = f"{len(found)} stored blocks could be the one before {block_key(self._next)}"
            return None
        return found[0]

    async def _sound_blocks(self) -> dict[Multihash, int]:
        """Every stored block that is what its name says, with its number; nothing where stores cannot list."""
        if self._sound is None:
            self._sound = {}
            if self._reader.capabilities.listable:
                with suppress(OdfError):  # a folder that cannot be listed helps as little as one that is empty
                    await self._index(self._sound)
        return self._sound

    async def _index(self, sound: dict[Multihash, int]) -> None:
        hashes = [parse_key(info.key)[1] async for info in self._reader.list(f"{BLOCKS}/")]
        async for batch in read_stored(self._reader, hashes):
            sound.update(await asyncio.to_thread(_numbered, batch))


def _numbered(batch: Sequence[StoredBlock]) -> list[tuple[Multihash, int]]:
    found = []
    for stored in batch:
        if stored.raw is not None and physical_hash(stored.raw) == stored.hash:
            try:
                found.append((stored.hash, read_block_header(stored.raw).sequence_number))
            except OdfError:
                continue
    return found
