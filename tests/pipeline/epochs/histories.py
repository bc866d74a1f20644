"""Histories of inputs as they happen: in order, late, with gaps, taken back, and several of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from hypothesis import strategies as st

from tests.pipeline.epochs.oracle import APPEND, CORRECT_FROM, CORRECT_TO, RETRACT, Block, History, Record


def added(time: int, key: str = "a", value: int = 1) -> Record:
    """A record that is appended."""
    return Record(APPEND, time, key, value)


def taken_back(record: Record) -> Record:
    """Its retraction."""
    return replace(record, op=RETRACT)


def corrected(record: Record, value: int) -> tuple[Record, Record]:
    """Both halves of a correction."""
    return replace(record, op=CORRECT_FROM), replace(record, op=CORRECT_TO, value=value)


PATTERNS: Final[dict[str, History]] = {
    "nothing": (),
    "blocks without anything": (Block("l"), Block("r")),
    "in order": (
        Block("l", (added(1), added(2, "b"))),
        Block("r", (added(2), added(4, "b")), 4),
        Block("l", (added(12), added(13, "b", 7)), 13),
        Block("r", (added(14), added(25)), 25),
        Block("l", (added(30),), 30),
    ),
    "late": (
        Block("l", (added(10), added(5)), 10),
        Block("r", (added(9),), 20),
        Block("l", (added(8), added(10), added(11)), 12),
        Block("r", (added(20), added(12), added(21)), 40),
        Block("l", (added(3), added(13)), 50),
    ),
    "with gaps": (
        Block("l", (added(1),), 1),
        Block("r", (added(3),), 3),
        Block("l", (added(500),), 500),
        Block("r", (added(501), added(900)), 900),
        Block("l", (added(1000),), 1000),
    ),
    "watermarks alone": (
        Block("l", (added(1), added(6))),
        Block("r", (added(2),)),
        Block("l", (), 5),
        Block("r", (), 3),
        Block("r", (), 9),
        Block("l", (), 40),
        Block("r", (), 40),
    ),
    "taken back while open": (
        Block("l", (added(1), added(2, "b")), None),
        Block("r", (added(2), added(3, "b"), taken_back(added(3, "b")), added(4, "b"))),
        Block("l", (taken_back(added(1)), *corrected(added(2, "b"), 5), added(9, "b")), 20),
        Block("r", (taken_back(added(2)),), 30),
    ),
    "taken back too late": (
        Block("l", (added(1), added(2, "b")), 10),
        Block("r", (added(2), added(3, "b")), 10),
        Block("l", (taken_back(added(1)), *corrected(added(2, "b"), 5)), 20),
        Block("r", (taken_back(added(2)),), 30),
    ),
    "the same again": (
        Block("l", (added(1), added(1), added(2)), 0),
        Block("r", (added(1), added(2), added(2))),
        Block("l", (added(1), taken_back(added(2)), added(2)), 1),
        Block("r", (added(1),), 5),
        Block("l", (added(1), added(5)), 20),
    ),
    "one input alone": (Block("l", (added(1), added(2)), 1), Block("l", (added(3),), 10)),
}
"""By name, over the inputs ``l`` and ``r``."""


def chained(histories: Iterable[History], apart: int = 2_000) -> History:
    """One after the other, so far from each other that none has to do with another."""
    return tuple(
        replace(
            block,
            records=tuple(replace(record, time=record.time + apart * number) for record in block.records),
            watermark=None if block.watermark is None else block.watermark + apart * number,
        )
        for number, history in enumerate(histories)
        for block in history
    )


@dataclass
class _Input:
    clock: int = 0
    watermark: int | None = None
    there: list[Record] = field(default_factory=list)


@st.composite
def histories(draw: st.DrawFn, inputs: tuple[str, ...] = ("l", "r"), blocks_max: int = 8) -> tuple[Block, ...]:
    """Any of the patterns, mixed: what is retracted or corrected was there, watermarks do not go back."""
    known = {name: _Input() for name in inputs}
    names = draw(st.lists(st.sampled_from(inputs), max_size=blocks_max))
    return tuple(_block(draw, name, known[name]) for name in names)


def _block(draw: st.DrawFn, name: str, known: _Input) -> Block:
    known.clock += draw(st.sampled_from([0, 1, 5, 5, 60]))
    records = [record for _ in range(draw(st.integers(0, 3))) for record in _records(draw, known)]
    watermark = draw(st.none() | st.integers(known.clock - 10, known.clock + 5))
    if watermark is not None and known.watermark is not None:
        watermark = max(watermark, known.watermark)
    known.watermark = known.watermark if watermark is None else watermark
    return Block(name, tuple(records), watermark)


def _records(draw: st.DrawFn, known: _Input) -> list[Record]:
    """One that is new, or what is done to one that is there."""
    change = draw(st.sampled_from(["add", "add", "repeat", "retract", "correct"])) if known.there else "add"
    if change == "add":
        time = known.clock + draw(st.integers(-15, 10))
        known.there.append(added(time, draw(st.sampled_from("ab")), draw(st.integers(0, 3))))
        return known.there[-1:]
    if change == "repeat":
        known.there.append(draw(st.sampled_from(known.there)))
        return known.there[-1:]
    old = known.there.pop(draw(st.integers(0, len(known.there) - 1)))
    if change == "retract":
        return [taken_back(old)]
    new = replace(old, value=old.value + draw(st.integers(1, 3)))
    known.there.append(new)
    return list(corrected(old, new.value))


CUTS: Final = st.sets(st.integers(1, 8), max_size=4).map(sorted)
"""After which blocks steps end, besides the last."""
