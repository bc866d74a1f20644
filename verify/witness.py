"""One dataset as several repositories show it: who is behind, where chains fork, and which head went back.

A repository may show different chains to different people, or take back what it has shown. Whoever looks at several of
them, and remembers what they showed before, sees it: blocks name those before them, so a fork can be told by the first
block that differs. What is remembered, and where, is not known here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

from opendatafabric.chain.compare import AskHeaders, Behind, Comparison, Diverged, Header, Side, compare_chains
from opendatafabric.errors import BlockNotFound, OdfError, PeerUnavailable, StorageError
from opendatafabric.multihash import Multihash
from storage.chain_walk import WalkedHeader
from storage.dataset import Dataset


class Look(StrEnum):
    """What a place shows, compared with the longest chain of all, and with what it showed before."""

    SAME = "same"
    BEHIND = "behind"
    """It has the first blocks of the longest chain."""
    FORKED = "forked"
    ROLLED_BACK = "rolled-back"
    """Its head was a later block of the same chain."""
    REPLACED = "replaced"
    """It showed other blocks before."""
    ANOTHER = "another-dataset"
    """Not even the seed is the same."""
    UNREACHABLE = "unreachable"


ALARMS = frozenset({Look.FORKED, Look.ROLLED_BACK, Look.REPLACED, Look.ANOTHER})
"""What an honest repository does not show, unless somebody pushed by force."""


@dataclass(frozen=True, slots=True)
class Fork:
    """The first block that differs: its number, what this place has there and what the other chain has."""

    sequence_number: int
    found: Multihash | None
    expected: Multihash | None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        found, expected = (None if each is None else str(each) for each in (self.found, self.expected))
        return {"sequenceNumber": self.sequence_number, "found": found, "expected": expected}


@dataclass(frozen=True, slots=True)
class Seen:
    """The head of a place, and the number of its block."""

    head: Multihash
    sequence_number: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What one place shows. ``behind`` counts blocks; ``fork`` and ``error`` say more where something is wrong."""

    place: str
    look: Look
    seen: Seen | None = None
    behind: int = 0
    fork: Fork | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values; what is not known is left out."""
        told: dict[str, Any] = {"place": self.place, "state": self.look.value}
        if self.seen is not None:
            told |= {"head": str(self.seen.head), "sequenceNumber": self.seen.sequence_number}
        if self.behind:
            told["behind"] = self.behind
        if self.fork is not None:
            told["firstDifference"] = self.fork.as_dict()
        return told if self.error is None else {**told, "error": self.error}


async def witness(places: Mapping[str, Dataset], remembered: Mapping[str, Seen]) -> list[Shown]:
    """What each place shows; ``remembered`` is what places showed before. That one cannot be read never raises."""
    looked = await asyncio.gather(*(_look(place, dataset) for place, dataset in places.items()))
    reached = [each for each in looked if each.seen is not None]
    if not reached:
        return looked
    longest = max(reached, key=lambda each: 0 if each.seen is None else each.seen.sequence_number)
    witnessing = _Witness(places, longest, remembered)
    return [each if each.seen is None else await witnessing.judged(each, each.seen) for each in looked]


async def _look(place: str, dataset: Dataset) -> Shown:
    try:
        head = await dataset.head()
        if head is None:
            return Shown(place, Look.UNREACHABLE, error="there is no dataset with a head")
        (newest,) = await _walked([dataset], head, 1)
    except OdfError as error:
        return Shown(place, Look.UNREACHABLE, error=error.message)
    return Shown(place, Look.SAME, Seen(head, newest.header.sequence_number))


@dataclass(frozen=True, slots=True)
class _Witness:
    places: Mapping[str, Dataset]
    longest: Shown
    remembered: Mapping[str, Seen]

    async def judged(self, shown: Shown, seen: Seen) -> Shown:
        """Its own past weighs most: what a place took back, it showed itself."""
        try:
            before = await self._compared_with_past(shown, seen)
            return before or await self._compared_with_longest(shown, seen)
        except OdfError as error:
            return replace(shown, look=Look.UNREACHABLE, error=error.message)

    async def _compared_with_past(self, shown: Shown, seen: Seen) -> Shown | None:
        past = self.remembered.get(shown.place)
        if past is None or past.head == seen.head:
            return None
        here = [self.places[shown.place]]
        try:
            comparison = await _compared(here, seen.head, [*here, *self.places.values()], past.head)
        except BlockNotFound:  # nobody has the old chain any more: its length is all that is known
            return await self._compared_with_lost(shown, seen, past)
        if isinstance(comparison, Behind):
            return replace(shown, look=Look.ROLLED_BACK, behind=comparison.block_count)
        if not isinstance(comparison, Diverged):
            return None
        number = seen.sequence_number + 1 - comparison.source_block_count
        return replace(shown, look=Look.REPLACED, fork=await self._fork(number, (here, seen), (self._all(), past)))

    async def _compared_with_lost(self, shown: Shown, seen: Seen, past: Seen) -> Shown | None:
        if seen.sequence_number < past.sequence_number:
            return replace(shown, look=Look.ROLLED_BACK, behind=past.sequence_number - seen.sequence_number)
        found = await _block_at([self.places[shown.place]], seen, past.sequence_number)
        if found == past.head:
            return None
        return replace(shown, look=Look.REPLACED, fork=Fork(past.sequence_number, found, past.head))

    async def _compared_with_longest(self, shown: Shown, seen: Seen) -> Shown:
        assert self.longest.seen is not None
        here, there = [self.places[shown.place]], [self.places[self.longest.place]]
        comparison = await _compared(here, seen.head, there, self.longest.seen.head)
        if isinstance(comparison, Behind):
            return replace(shown, look=Look.BEHIND, behind=comparison.block_count)
        if not isinstance(comparison, Diverged):
            return shown
        if comparison.ancestor is None:
            return replace(shown, look=Look.ANOTHER)
        number = seen.sequence_number + 1 - comparison.source_block_count
        fork = await self._fork(number, (here, seen), (there, self.longest.seen))
        return replace(shown, look=Look.FORKED, fork=fork)

    async def _fork(self, number: int, ours: _Chain, theirs: _Chain) -> Fork:
        return Fork(number, await _block_at(*ours, number), await _block_at(*theirs, number))

    def _all(self) -> list[Dataset]:
        return list(self.places.values())


_Chain = tuple[Sequence[Dataset], Seen]
"""Where its blocks may be found, and its head."""


async def _compared(
    source: Sequence[Dataset], source_head: Multihash, target: Sequence[Dataset], target_head: Multihash
) -> Comparison:
    sides = {Side.SOURCE: source, Side.TARGET: target}
    script = compare_chains(source_head, target_head)
    answer: Sequence[Header] | None = None
    while True:
        try:
            ask: AskHeaders = next(script) if answer is None else script.send(answer)
        except StopIteration as end:
            comparison: Comparison = end.value
            return comparison
        answer = await _headers_in(sides[ask.side], ask.start, ask.count)


async def _headers_in(datasets: Sequence[Dataset], start: Multihash, count: int) -> Sequence[Header]:
    return [each.header for each in await _walked(datasets, start, count)]


async def _block_at(datasets: Sequence[Dataset], seen: Seen, number: int) -> Multihash | None:
    """The block of that number on the chain, if it is so long."""
    count = seen.sequence_number - number + 1
    return (await _walked(datasets, seen.head, count))[-1].hash if count > 0 else None


async def _walked(datasets: Sequence[Dataset], start: Multihash, count: int) -> list[WalkedHeader]:
    """So many blocks from ``start`` backwards, from the first of the datasets that has that one."""
    walked: list[WalkedHeader] = []
    async with aclosing(cast(Any, (await _holding(datasets, start)).walk_headers(start))) as batches:
        async for batch in batches:
            walked += batch
            if len(walked) >= count:
                break
    return walked[:count]


async def _holding(datasets: Sequence[Dataset], start: Multihash) -> Dataset:
    for dataset in datasets:
        with suppress(PeerUnavailable, StorageError):
            if await dataset.has_block(start):
                return dataset
    raise BlockNotFound(f"block {start} is in none of the places")
