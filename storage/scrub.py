"""Scrubbing: read everything that a dataset needs again, slowly, hash it, and heal what is damaged or gone.

Blocks come first, from each ref to the seed, since they say what the objects are; then the objects in the order of
their keys, so that a scrub can go on behind any of them. Where the healthy bytes come from, ``sources`` say; a finding
that nobody could heal is told and the scrub goes on. The caller keeps the place and writes down what was found.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.errors import (
    HashMismatch,
    MalformedIdentifier,
    MalformedInput,
    NotFound,
    OdfError,
    SizeMismatch,
    StorageError,
)
from opendatafabric.layout import CHECKPOINTS, DATA, block_key, parse_key
from opendatafabric.limits import INLINE_HASH_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Hasher, Multihash
from storage.dataset import Dataset, object_key
from storage.heal import heal
from storage.protocols import ObjectReader


@dataclass(slots=True)
class Pace:
    """At most so many bytes a second, on average since the start; ``None`` is as fast as it goes."""

    bytes_per_s: float | None = None
    _started: float = field(default_factory=time.monotonic)
    _bytes: int = 0

    async def spent(self, size: int) -> None:
        """Wait until ``size`` bytes more may have been read."""
        self._bytes += size
        if self.bytes_per_s is not None:
            ahead_s = self._bytes / self.bytes_per_s - (time.monotonic() - self._started)
            if ahead_s > 0:
                await asyncio.sleep(ahead_s)


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """One block or object that was looked at; ``damage`` is what was wrong with it."""

    key: str
    size: int
    damage: OdfError | None = None
    healed: bool = False

    @property
    def is_object(self) -> bool:
        """Whether it is a slice or a checkpoint: a scrub can go on behind it."""
        return self.key.startswith((f"{DATA}/", f"{CHECKPOINTS}/"))

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        damage = None if self.damage is None else self.damage.as_dict()
        return {"key": self.key, "damage": damage, "healed": self.healed}


async def scrub(
    dataset: Dataset, *, sources: Sequence[ObjectReader] = (), pace: Pace | None = None, after: str = ""
) -> AsyncIterator[Scrubbed]:
    """Everything the refs lead to, as it is looked at; objects up to the key ``after`` were looked at before.

    Raises:
        UnsupportedOperation: there are sources and the store can only be read.
        StorageError: the store failed in another way than in reading one file.
    """
    scrubbing = _Scrubbing(dataset, sources, pace or Pace())
    async for done in scrubbing.chains():
        yield done
    for file in sorted(scrubbing.files, key=object_key):
        if object_key(file) > after:
            yield await scrubbing.object(file)


class _Scrubbing:
    def __init__(self, dataset: Dataset, sources: Sequence[ObjectReader], pace: Pace) -> None:
        self._dataset, self._sources, self._pace = dataset, sources, pace
        self._met: set[Multihash] = set()
        self.files: set[ObjectFile] = set()

    async def chains(self) -> AsyncIterator[Scrubbed]:
        """Every block; a chain ends where a block cannot be healed."""
        try:
            heads = await self._dataset.refs.list()
        except MalformedIdentifier as error:
            yield Scrubbed("refs", 0, error)
            return
        for head in heads.values():
            following: Multihash | None = head
            while following is not None and following not in self._met:
                done, block = await self._block(following)
                yield done
                following = None if block is None else block.prev_block_hash

    async def _block(self, block_hash: Multihash) -> tuple[Scrubbed, HashedBlock | None]:
        key, damage = block_key(block_hash), None
        try:
            block = await self._dataset.read_block(block_hash)
        except (NotFound, HashMismatch, MalformedInput, StorageError) as error:
            damage = _of_one_file(error)
            if not await self._heal(key):
                return Scrubbed(key, 0, error), None
            block = await self._dataset.read_block(block_hash)
        self._met.add(block_hash)
        self.files.update(objects_of(block))
        await self._pace.spent(len(block.raw))
        return Scrubbed(key, len(block.raw), damage, damage is not None), block

    async def object(self, file: ObjectFile) -> Scrubbed:
        """One object, healed if there is need."""
        key = object_key(file)
        try:
            await self._check(key, file.size)
        except (NotFound, HashMismatch, SizeMismatch, StorageError) as error:
            return Scrubbed(key, file.size, _of_one_file(error), await self._heal(key))
        return Scrubbed(key, file.size)

    async def _check(self, key: str, size: int) -> None:
        hasher = Hasher()
        async for piece in self._dataset.objects.stream(key):
            if len(piece) <= INLINE_HASH_BYTES_MAX:
                hasher.update(piece)
            else:
                await asyncio.to_thread(hasher.update, piece)
            await self._pace.spent(len(piece))
        if hasher.size != size:
            raise SizeMismatch(f"{key} has another size than its block says", expected=size, found=hasher.size)
        found, expected = hasher.finish(), parse_key(key)[1]
        if found != expected:
            raise HashMismatch(f"{key} is damaged", expected=expected, found=found)

    async def _heal(self, key: str) -> bool:
        return bool(self._sources) and await heal(self._dataset.writable_objects(), key, self._sources)


def _of_one_file(error: OdfError) -> OdfError:
    """``error``, if it may be what is wrong with one file: a disk that cannot read a sector. Others are raised."""
    if isinstance(error, StorageError) and error.retryable:
        raise error
    return error
