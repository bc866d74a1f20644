"""Reading many blocks of a chain in few hops: each block checked against its hash in the thread that read it.

``ObjectReader.follow`` goes from key to key by itself; the functions here tell it where to go, and do the hashing and
reading on the way. A batch ends by count or by bytes, so memory does not grow with the chain.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from opendatafabric.chain.additions import Additions, read_additions
from opendatafabric.codec.block_codec import BlockHeader, decode_block, read_block_header
from opendatafabric.errors import BlockNotFound, HashMismatch, ObjectNotFound
from opendatafabric.layout import BLOCKS, block_key
from opendatafabric.limits import FOLLOW_BLOCKS_MAX, FOLLOW_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash, physical_hash, physical_name
from storage.protocols import ObjectReader

_FIRST_BATCH = 16
"""Small, since many callers find what they want near the head."""


@dataclass(frozen=True, slots=True)
class WalkedHeader:
    """Header of a stored block; ``size`` of its bytes."""

    hash: Multihash
    header: BlockHeader
    size: int

    @property
    def prev_block_hash(self) -> Multihash | None:
        return self.header.prev_block_hash

    @property
    def sequence_number(self) -> int:
        return self.header.sequence_number


AddingBlock = tuple[str, bytes, Additions]
"""A stored block: its hash as text, its bytes, and what it adds."""

Walked = TypeVar("Walked", HashedBlock, WalkedHeader)
Read = TypeVar("Read")


def checked(expected: Multihash, raw: bytes) -> bytes:
    """``raw``, if it hashes to ``expected``.

    Raises:
        HashMismatch: it does not; the message names the key.
    """
    found = physical_hash(raw)
    if found != expected:
        raise HashMismatch(
            f"{block_key(expected)} is damaged",
            expected=expected,
            found=found,
            hint="run odf fsck; fetch the block again from a mirror",
        )
    return raw


def read_whole(expected: Multihash, raw: bytes) -> HashedBlock:
    """The block in ``raw``, checked and decoded."""
    return decode_block(checked(expected, raw))


def read_header(expected: Multihash, raw: bytes) -> WalkedHeader:
    """The header in ``raw``, checked; the event is not decoded."""
    return WalkedHeader(expected, read_block_header(checked(expected, raw)), len(raw))


async def walk_back(
    reader: ObjectReader,
    head: Multihash,
    read: Callable[[Multihash, bytes], Walked],
    *,
    stop_before: Multihash | None,
) -> AsyncIterator[list[Walked]]:
    """Batches from ``head`` back to the seed, or to the block after ``stop_before``; newest first."""
    following: Multihash | None = head
    count_max = _FIRST_BATCH
    while following is not None and following != stop_before:
        batch: _Batch[Walked] = _Batch(following, read, _backwards(stop_before))
        await batch.fill(reader, count_max)
        yield batch.blocks
        following = batch.expected
        count_max = min(count_max * 4, FOLLOW_BLOCKS_MAX)


async def walk_additions(
    reader: ObjectReader, head: Multihash, *, stop_before: Multihash | None
) -> AsyncIterator[list[AddingBlock]]:
    """As ``walk_back``, for what many blocks add: by names alone, since a value for each hash would double the cost."""
    following: str | None = str(head)
    last = None if stop_before is None else str(stop_before)
    while following is not None and following != last:
        batch = _AdditionsBatch(following, last)
        try:
            await reader.follow(f"{BLOCKS}/{following}", batch.take, count_max=FOLLOW_BLOCKS_MAX)
        except ObjectNotFound:
            raise block_not_found(Multihash.from_text(batch.expected or following)) from None
        yield batch.blocks
        following = batch.expected


class _AdditionsBatch:
    """Blocks read in one hop; ``expected`` is the name of the block after them."""

    def __init__(self, first: str, last: str | None) -> None:
        self.blocks: list[AddingBlock] = []
        self.expected: str | None = first
        self._last = last
        self._bytes = 0

    def take(self, raw: bytes) -> str | None:
        name = self.expected
        assert name is not None
        if physical_name(raw) != name:
            checked(Multihash.from_text(name), raw)
        additions = read_additions(raw)
        self.blocks.append((name, raw, additions))
        self._bytes += len(raw)
        previous = None if additions.prev_block_hash is None else f"f{additions.prev_block_hash.hex()}"
        self.expected = None if previous == self._last else previous
        return None if self.expected is None or self._bytes >= FOLLOW_BYTES_MAX else f"{BLOCKS}/{self.expected}"


async def read_each(
    reader: ObjectReader, hashes: Sequence[Multihash], read: Callable[[Multihash, bytes], Read]
) -> AsyncIterator[list[Read]]:
    """Batches of the blocks named by ``hashes``, in that order."""
    rest = iter(hashes)
    following = next(rest, None)
    while following is not None:
        batch: _Batch[Read] = _Batch(following, read, lambda _: next(rest, None))
        await batch.fill(reader, FOLLOW_BLOCKS_MAX)
        yield batch.blocks
        following = batch.expected


def _backwards(stop_before: Multihash | None) -> Callable[[Walked], Multihash | None]:
    def next_hash(block: Walked) -> Multihash | None:
        previous = block.prev_block_hash
        return None if previous == stop_before else previous

    return next_hash


class _Batch(Generic[Read]):
    """Blocks read in one hop; ``expected`` is the hash of the block after them."""

    def __init__(
        self,
        first: Multihash,
        read: Callable[[Multihash, bytes], Read],
        next_hash: Callable[[Read], Multihash | None],
    ) -> None:
        self.blocks: list[Read] = []
        self.expected: Multihash | None = first
        self._read: Callable[[Multihash, bytes], Read] = read
        self._next_hash: Callable[[Read], Multihash | None] = next_hash
        self._bytes = 0

    async def fill(self, reader: ObjectReader, count_max: int) -> None:
        assert self.expected is not None
        try:
            await reader.follow(block_key(self.expected), self._take, count_max=count_max)
        except ObjectNotFound:
            raise block_not_found(self.expected) from None

    def _take(self, raw: bytes) -> str | None:
        assert self.expected is not None
        block = self._read(self.expected, raw)
        self.blocks.append(block)
        self._bytes += len(raw)
        self.expected = self._next_hash(block)
        if self.expected is None or self._bytes >= FOLLOW_BYTES_MAX:
            return None
        return block_key(self.expected)


def block_not_found(block_hash: Multihash) -> BlockNotFound:
    """The error of a block that a chain or a caller names and the store has not."""
    return BlockNotFound(f"block {block_hash} is not in the dataset", found=None, hint="run odf fsck")
