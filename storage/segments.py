"""Stretches of a chain kept in one piece, so that walking it over a distant store takes a request a thousand blocks.

A segment ends at a block whose sequence number says so (…99 or …999) and goes back to the one that is a multiple of its
length: whoever walks or writes a chain meets the same ones. It is named by the hash of its newest block, which fixes
everything in it. Derived: what is not kept, or damaged, is read block by block, and kept on the way.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from opendatafabric.codec.block_codec import read_block_header
from opendatafabric.errors import OdfError
from opendatafabric.layout import BLOCKS, block_key
from opendatafabric.limits import SEGMENT_BYTES_MAX
from opendatafabric.multihash import physical_name
from storage.protocols import DerivedStore

SEGMENT_LENGTHS: Final = (1_000, 100)
"""Blocks that are kept in one piece where each would be a request: long ones for walks, short ones for what is new."""

SEGMENTS_FOLDER: Final = ".segments"
"""Where they lie beside the blocks of a dataset."""

_SIZE: Final = struct.Struct(">I")
Reading = Callable[[str], Awaitable[bytes]]


@dataclass(slots=True)
class _Run:
    """Blocks met one after another, newest first, since the last that may end a segment of ``length``."""

    length: int
    blocks: list[bytes] = field(default_factory=list)
    newest: str = ""
    following: str | None = None
    size: int = 0

    def take(self, key: str, raw: bytes, number: int, previous: str | None) -> bool:
        """Whether the segment is complete now."""
        if number % self.length == self.length - 1:
            self.blocks, self.newest, self.size = [], key, 0
        elif not self.blocks or key != self.following or self.size > SEGMENT_BYTES_MAX:
            self.blocks = []
            return False
        self.blocks.append(raw)
        self.size += len(raw)
        self.following = previous
        return len(self.blocks) == self.length


class Segments:
    """The segments of one dataset in ``derived``, and where its readers are."""

    def __init__(self, derived: DerivedStore) -> None:
        self._derived = derived
        self._at_hand: dict[str, bytes] = {}
        self._runs = [_Run(length) for length in SEGMENT_LENGTHS]
        self._kept: set[str] = set()
        self._next: tuple[str, int] | None = None

    def reading(self, read: Reading) -> Reading:
        """As ``read``, for keys of blocks; what a segment holds is not asked for."""

        async def read_block(key: str) -> bytes:
            raw = await self._from_segment(key)
            if raw is None:
                raw = await read(key)
            await self._note(key, raw)
            return raw

        return read_block

    async def keep(self, objects: Mapping[str, bytes]) -> None:
        """Keep the segments that are whole among ``objects``, of which blocks come oldest first."""
        if len(objects) >= min(SEGMENT_LENGTHS):
            for key, raw in reversed(list(objects.items())):
                if key.startswith(f"{BLOCKS}/"):
                    await self._note(key, raw)

    async def _from_segment(self, key: str) -> bytes | None:
        if key not in self._at_hand and self._next is not None and self._next[0] == key:
            await self._load(*self._next)
        return self._at_hand.get(key)

    async def _load(self, key: str, number: int) -> None:
        for length in SEGMENT_LENGTHS:
            if number % length != length - 1:
                continue
            name = _name(key, length)
            kept = await self._derived.read(name)
            if kept is not None:
                self._at_hand = await asyncio.to_thread(_unpacked, kept)
                self._kept.add(name)
                return

    async def _note(self, key: str, raw: bytes) -> None:
        """``raw`` was met: is a segment complete, and may one begin behind it?"""
        try:
            header = read_block_header(raw)
        except OdfError:
            return  # the reader finds the same and tells
        previous = None if header.prev_block_hash is None else block_key(header.prev_block_hash)
        number = header.sequence_number
        self._next = None if previous is None else (previous, number - 1)
        for run in self._runs:
            if run.take(key, raw, number, previous):
                await self._keep(run)

    async def _keep(self, run: _Run) -> None:
        name = _name(run.newest, run.length)
        if name not in self._kept:
            self._kept.add(name)
            packed = await asyncio.to_thread(_packed, run.newest, list(run.blocks))
            if packed is not None:
                await self._derived.keep(name, packed)


def newest_block_of(name: str) -> str:
    """The key of the block that the segment called ``name`` ends at."""
    return f"{BLOCKS}/{name.rpartition('-')[0]}"


def _name(key: str, length: int) -> str:
    return f"{key.rpartition('/')[2]}-{length}"


def _packed(newest: str, blocks: list[bytes]) -> bytes | None:
    """Nothing if the blocks are not what they should be: readers judge them after they were met here."""
    if f"{BLOCKS}/{physical_name(blocks[0])}" != newest:
        return None
    return b"".join(part for raw in blocks for part in (_SIZE.pack(len(raw)), raw))


def _unpacked(kept: bytes) -> dict[str, bytes]:
    """The blocks by what they hash to: nobody asks for one that is damaged."""
    blocks, at = {}, 0
    while at + _SIZE.size <= len(kept):
        (size,) = _SIZE.unpack_from(kept, at)
        raw = kept[at + _SIZE.size : at + _SIZE.size + size]
        blocks[f"{BLOCKS}/{physical_name(raw)}"] = raw
        at += _SIZE.size + size
    return blocks
