"""Blocks of IPFS out of stored objects, and walks run over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from opendatafabric.errors import HashMismatch
from opendatafabric.ipfs.cid import Block, Cid
from opendatafabric.ipfs.walk import T, Walk
from storage.ipfs.index import Place
from storage.protocols import ObjectReader
from storage.values import ByteRange

ReadBlock = Callable[[Cid], Awaitable[bytes]]
"""Gives the block of a CID, checked, or raises ``ObjectNotFound``."""


async def read_place(place: Place, cid: Cid, objects: ObjectReader) -> bytes:
    """The block at ``place``, which is not a whole object.

    Raises:
        ObjectNotFound: the object is gone.
        HashMismatch: its bytes there are not those of ``cid``.
    """
    if place.data is not None:
        return place.data
    end = None if place.size is None else place.offset + place.size
    pieces = [piece async for piece in objects.stream(place.key, ByteRange(place.offset, end))]
    data = b"".join(pieces)
    if not cid.matches(data):
        raise HashMismatch(f"{place.key} is damaged at byte {place.offset}", hint="run odf fsck")
    return data


async def run_walk(walk: Walk[T], read: ReadBlock, proof: list[Block] | None = None) -> tuple[T, list[Block]]:
    """What ``walk`` finds, and the blocks it asked for: the proof of it. For walks that ask for few.

    ``proof`` is filled with them on the way, for those who want them also when nothing is found.
    """
    asked = [] if proof is None else proof
    try:
        wanted = next(walk)
        while True:
            asked.append(Block(wanted, await read(wanted)))
            wanted = walk.send(asked[-1].data)
    except StopIteration as end:
        found: T = end.value
        return found, asked


async def run_walk_in_threads(walk: Walk[T], read: ReadBlock, proof: list[Block]) -> T:
    """As ``run_walk``, for walks that compute much between the blocks they ask for."""
    wanted, found = await asyncio.to_thread(_step, walk, None)
    while wanted is not None:
        proof.append(Block(wanted, await read(wanted)))
        wanted, found = await asyncio.to_thread(_step, walk, proof[-1].data)
    assert found is not None
    return found[0]


def _step(walk: Walk[T], block: bytes | None) -> tuple[Cid | None, tuple[T] | None]:
    # What a generator returns comes as an exception that cannot leave a thread.
    try:
        return (next(walk) if block is None else walk.send(block)), None
    except StopIteration as end:
        return None, (end.value,)


async def walked(walk: Walk[None], read: ReadBlock) -> AsyncIterator[Block]:
    """Every block that ``walk`` asks for, one at a time."""
    try:
        wanted = next(walk)
        while True:
            block = Block(wanted, await read(wanted))
            yield block
            wanted = walk.send(block.data)
    except StopIteration:
        return
