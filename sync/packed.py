"""A pack of blocks kept packed: read through as often as needed, never held unpacked.

A pack of 100,000 blocks is some 20 MiB; its decoded blocks would be ten times that. So a pack is examined in one pass,
block by block, keeping only what the end of the transfer needs, and stored in a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.chain.state import ChainState
from opendatafabric.chain.validate import validate_chain
from opendatafabric.codec.block_codec import decode_block, is_canonical
from opendatafabric.codec.block_pack import unpack_blocks
from opendatafabric.errors import HashMismatch, MalformedPack
from opendatafabric.layout import block_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import UnknownEvent
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class Examined:
    """What a pack holds: a valid continuation of a chain."""

    state: ChainState
    head: Multihash
    block_count: int
    files: tuple[ObjectFile, ...]
    """Every object the blocks add, each once, oldest first."""
    block_bytes: int = 0
    """Of the blocks as they are stored."""


@dataclass(frozen=True, slots=True)
class PackedBlocks:
    """``data`` is a tar.gz of at most ``count_max`` blocks, oldest first."""

    data: bytes
    count_max: int

    def first(self) -> HashedBlock:
        """The oldest block.

        Raises:
            MalformedPack: there is none; and whatever reading it raises.
        """
        for block in self.blocks():
            return block
        raise MalformedPack("the pack holds no block")

    def blocks(self) -> Iterator[HashedBlock]:
        """Every block, checked against its name and decoded."""
        for _, raw in unpack_blocks(self.data, count_max=self.count_max):
            yield decode_block(raw)

    def examine(
        self, state: ChainState, *, canonical_only: bool = False, on_block: Callable[[int], None] = lambda _: None
    ) -> Examined:
        """Check the blocks as a continuation of ``state``; errors as ``examine_blocks`` and of reading the pack."""
        blocks = map(require_canonical, self.blocks()) if canonical_only else self.blocks()
        return examine_blocks(blocks, state, on_block=on_block)

    def batches(self, size: int) -> Iterator[dict[str, bytes]]:
        """The raw blocks by key, ``size`` at a time, as stores take them."""
        raw_blocks = unpack_blocks(self.data, count_max=self.count_max)
        while batch := {block_key(name): raw for name, raw in islice(raw_blocks, size)}:
            yield batch


def examine_blocks(
    blocks: Iterable[HashedBlock], state: ChainState, *, on_block: Callable[[int], None] = lambda _: None
) -> Examined:
    """Check ``blocks``, oldest first, as a continuation of ``state``; ``on_block`` hears how many are done.

    Raises:
        ChainError: the first rule that is broken.
        MalformedPack: there is no block.
    """
    count, size = 0, 0
    files: dict[ObjectFile, None] = {}
    for count, block in enumerate(blocks, start=1):
        state = validate_chain((block,), state)
        files.update(dict.fromkeys(objects_of(block)))
        size += len(block.raw)
        on_block(count)
    if state.head is None or count == 0:
        raise MalformedPack("the pack holds no block")
    return Examined(state, state.head, count, tuple(files), size)


def require_canonical(block: HashedBlock) -> HashedBlock:
    """Refuse a block that the reference could not pull: valid bytes in another layout than the one it writes.

    Events and fields of newer versions pass: nobody else can judge their layout either.

    Raises:
        HashMismatch: written anew, the block has another hash.
    """
    if isinstance(block.event, UnknownEvent) or block.has_newer_fields or is_canonical(block):
        return block
    raise HashMismatch(
        f"block {block.sequence_number} is not laid out as the format demands",
        found=block.hash,
        hint="write blocks with odf or kamu; other layouts cannot be pulled by everybody",
    )
