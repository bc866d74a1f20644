"""How two chains relate, found out with few questions.

``compare_chains`` is a script without I/O: a generator that yields ``AskHeaders`` and is sent the headers it asked for.
Whoever drives it knows how to get them: from a local store, or over a slow wire. Both heads are asked for at once; then
the longer chain is walked down to the length of the shorter one, and only if they do not meet there both are walked on
together. Sequence numbers say how far to go, so a question asks for as many blocks as are needed, up to ``batch_max``.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from opendatafabric.errors import BlockNotFound, ChainError
from opendatafabric.limits import FOLLOW_BLOCKS_MAX
from opendatafabric.multihash import Multihash


class Side(Enum):
    """Whose blocks are asked for."""

    SOURCE = "source"
    TARGET = "target"


class Header(Protocol):
    """What the comparison looks at; a ``BlockHeader`` or a whole block."""

    @property
    def prev_block_hash(self) -> Multihash | None: ...

    @property
    def sequence_number(self) -> int: ...


@dataclass(frozen=True, slots=True)
class AskHeaders:
    """Headers of ``side`` from the block ``start`` backwards.

    The answer is newest first and begins with ``start`` itself. It may be shorter than ``count`` but not empty. Who
    answers has checked every block against its hash.
    """

    side: Side
    start: Multihash
    count: int


@dataclass(frozen=True, slots=True)
class Equal:
    """Both heads are the same block, or both chains are empty."""

    head: Multihash | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """The source has ``block_count`` blocks after the target's head, ``ancestor`` (``None``: the target is empty)."""

    ancestor: Multihash | None
    block_count: int


@dataclass(frozen=True, slots=True)
class Behind:
    """The target has ``block_count`` blocks after the source's head, ``ancestor`` (``None``: the source is empty)."""

    ancestor: Multihash | None
    block_count: int


@dataclass(frozen=True, slots=True)
class Diverged:
    """Both sides have blocks after ``ancestor``; ``None`` when not even the seed is common."""

    ancestor: Multihash | None
    source_block_count: int
    target_block_count: int


Comparison = Equal | Ahead | Behind | Diverged
Script = Generator[AskHeaders, Sequence[Header], Comparison]
Walk = Generator[AskHeaders, Sequence[Header], None]


def compare_chains(
    source_head: Multihash | None, target_head: Multihash | None, *, batch_max: int = FOLLOW_BLOCKS_MAX
) -> Script:
    """Compare the chains that end at two heads (``None`` = no blocks).

    Raises (while being driven):
        ChainError: a header whose number is not one less than its successor's.
        BlockNotFound: an empty answer.
    """
    if source_head == target_head:
        return Equal(source_head)
    if source_head is None or target_head is None:
        return (yield from _compare_with_empty(source_head, target_head))
    source = _Cursor(Side.SOURCE, source_head, batch_max)
    target = _Cursor(Side.TARGET, target_head, batch_max)
    yield from source.load(1)
    yield from target.load(1)
    lengths = source.number + 1, target.number + 1
    yield from source.go_down_to(target.number)
    yield from target.go_down_to(source.number)
    while source.hash != target.hash and source.number > 0:
        yield from source.step()
        yield from target.step()
    if source.hash != target.hash:
        return Diverged(None, *lengths)
    return _meeting_at(source.hash, lengths[0] - source.number - 1, lengths[1] - source.number - 1)


def _compare_with_empty(source_head: Multihash | None, target_head: Multihash | None) -> Script:
    side, head = (Side.SOURCE, source_head) if source_head is not None else (Side.TARGET, target_head)
    if head is None:
        return Equal(None)
    cursor = _Cursor(side, head, 1)
    yield from cursor.load(1)
    count = cursor.number + 1
    return Ahead(None, count) if side is Side.SOURCE else Behind(None, count)


def _meeting_at(ancestor: Multihash, source_block_count: int, target_block_count: int) -> Comparison:
    if target_block_count == 0:
        return Ahead(ancestor, source_block_count)
    if source_block_count == 0:
        return Behind(ancestor, target_block_count)
    return Diverged(ancestor, source_block_count, target_block_count)


class _Cursor:
    """A place in one chain that moves towards the seed; batches double while walking step by step."""

    def __init__(self, side: Side, head: Multihash, batch_max: int) -> None:
        self.side, self.hash, self._batch_max = side, head, batch_max
        self._ahead: list[Header] = []
        self._batch = 8

    @property
    def number(self) -> int:
        return self._ahead[-1].sequence_number

    def load(self, count: int) -> Walk:
        """Make sure that the header at ``hash`` is there; ask for up to ``count`` when it is not."""
        if not self._ahead:
            answer = yield AskHeaders(self.side, self.hash, max(1, min(count, self._batch_max)))
            if not answer:
                raise BlockNotFound(f"block {self.hash} is missing in the {self.side.value}")
            self._ahead = list(reversed(answer))

    def step(self, count: int | None = None) -> Walk:
        """Move one block towards the seed, asking for up to ``count`` headers when they have run out."""
        here = self._ahead.pop()
        if here.prev_block_hash is None or here.sequence_number == 0:
            raise self._broken(here.sequence_number, expected="a block before it", found=here.prev_block_hash or "none")
        self.hash = here.prev_block_hash
        if not self._ahead:
            if count is None:
                self._batch = min(self._batch * 2, self._batch_max)
            yield from self.load(self._batch if count is None else count)
        if self.number != here.sequence_number - 1:
            raise self._broken(here.sequence_number, expected=here.sequence_number - 1, found=self.number)

    def go_down_to(self, number: int) -> Walk:
        """Move to the block of that number; stay where the chain is that short already."""
        while self.number > number:
            yield from self.step(self.number - number)

    def _broken(self, number: int, *, expected: object, found: object) -> ChainError:
        return ChainError(
            f"block {number} of the {self.side.value} does not follow the block before it",
            rule="P1",
            sequence_number=number,
            expected=expected,
            found=found,
        )
