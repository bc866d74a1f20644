"""Holding a chain that no ref may lead to any more, while something is published on top of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from opendatafabric.chain.objects import objects_of
from opendatafabric.errors import ObjectNotFound
from opendatafabric.layout import BLOCKS, block_key, parse_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.chain_walk import block_not_found, read_header, read_whole, walk_back
from storage.leases import pinned
from storage.protocols import ObjectReader, ObjectStore


@asynccontextmanager
async def held_chain(store: ObjectStore, base: Multihash | None, *, below: Multihash | None) -> AsyncIterator[None]:
    """Inside, the chain up to ``base`` stays whole; what a ref at ``below`` leads to needs no holding.

    Raises:
        BlockNotFound: it is not whole.
    """
    if base is None or await is_on_chain(store, base, below):
        yield
        return
    keys = [
        key
        async for batch in walk_back(store, base, read_whole, stop_before=None)
        for block in batch
        for key in keys_named_by(block)
    ]
    async with pinned(store.leases, keys):
        for key in keys:  # every block is still there; from here on it stays
            if key.startswith(f"{BLOCKS}/"):
                await _require(store, key)
        yield


async def _require(store: ObjectStore, key: str) -> None:
    try:
        await store.stat(key)
    except ObjectNotFound:
        raise block_not_found(parse_key(key)[1]) from None


def keys_named_by(block: HashedBlock) -> list[str]:
    """The block itself and the objects it adds."""
    return [block_key(block.hash), *(f"{file.kind.value}/{file.physical_hash}" for file in objects_of(block))]


async def is_on_chain(store: ObjectReader, block: Multihash, head: Multihash | None) -> bool:
    """Whether ``block`` is ``head`` or leads to it; walks from there to the block, or to the seed."""
    if head is None or head == block:
        return head is not None
    oldest_follows: Multihash | None = None
    async for batch in walk_back(store, head, read_header, stop_before=block):
        oldest_follows = batch[-1].prev_block_hash
    return oldest_follows == block
