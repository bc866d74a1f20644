"""What stateful queries of the dialect give, computed in plain Python from a whole history at once.

Written from the rules alone, to compare the pipeline with: nothing here knows of steps, state or Spark. Each row says
with which block of the history it may first appear; a step gives the rows of the blocks that it takes.

The rules. A record is late if the watermark of its own input, before the block that brought it, has reached its time
(for fixed windows: the end of the window); late records are left out. The watermark of the history is that of its
slowest input. A record that was taken back counts −1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

APPEND, RETRACT, CORRECT_FROM, CORRECT_TO = range(4)
_SIGNS: Final = {APPEND: 1, RETRACT: -1, CORRECT_FROM: -1, CORRECT_TO: 1}
Values = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record of an input; ``time`` is in minutes."""

    op: int
    time: int
    key: str
    value: int

    @property
    def sign(self) -> int:
        """How it counts."""
        return _SIGNS[self.op]

    @property
    def values(self) -> tuple[int, str, int]:
        """All but the operation."""
        return self.time, self.key, self.value


@dataclass(frozen=True, slots=True)
class Block:
    """Of one of the inputs."""

    input: str
    records: tuple[Record, ...] = ()
    watermark: int | None = None


History = Sequence[Block]
"""Blocks of all inputs, in the order in which they came."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the result; ``at`` is the place in the history of the block with which it may first appear."""

    at: int
    op: int
    values: Values


@dataclass(frozen=True, slots=True)
class _Seen:
    record: Record
    at: int


def _rows(at: int | None, count: int, values: Values) -> Iterator[Row]:
    """As many as ``count`` says, appended or retracted; none if the history ends before."""
    if at is not None:
        yield from [Row(at, APPEND if count > 0 else RETRACT, values)] * abs(count)


class _Clock:
    """Watermarks of a history, of which ``inputs`` count: a query over one of them does not wait for the others."""

    def __init__(self, history: History, inputs: Sequence[str]) -> None:
        self._own: list[int | None] = []
        self._slowest: list[int | None] = []
        reached: dict[str, int] = {}
        for block in history:
            self._own.append(reached.get(block.input))
            if block.watermark is not None:
                reached[block.input] = max(block.watermark, reached.get(block.input, block.watermark))
            known = [reached[each] for each in inputs if each in reached]
            self._slowest.append(min(known) if len(known) == len(inputs) else None)

    def is_late(self, at: int, time: int) -> bool:
        """Whether the input of that block was beyond ``time`` before it."""
        own = self._own[at]
        return own is not None and time <= own

    def passes(self, time: int) -> int | None:
        """The place of the block with which all inputs have reached ``time``."""
        return next((at for at, each in enumerate(self._slowest) if each is not None and each >= time), None)


def _seen(history: History, name: str) -> Iterator[_Seen]:
    for at, block in enumerate(history):
        if block.input == name:
            yield from (_Seen(record, at) for record in block.records)


def _timely(history: History, name: str, clock: _Clock) -> list[_Seen]:
    return [each for each in _seen(history, name) if not clock.is_late(each.at, each.record.time)]


def _counted(seen: Iterable[_Seen]) -> dict[tuple[int, str, int], int]:
    """Records by their values and how often each is there, those left out that cancel."""
    counts: Counter[tuple[int, str, int]] = Counter()
    for each in seen:
        counts[each.record.values] += each.record.sign
    return {values: count for values, count in counts.items() if count}


def fixed_windows(history: History, name: str, *, size: int, slide: int) -> list[Row]:
    """Start, end, key, count and sum of tumbling (``slide`` is ``size``) or hopping windows."""
    clock = _Clock(history, [name])
    windows: defaultdict[tuple[int, str], list[_Seen]] = defaultdict(list)
    for each in _seen(history, name):
        latest = each.record.time // slide * slide
        for start in range(latest, each.record.time - size, -slide):
            if not clock.is_late(each.at, start + size):
                windows[start, each.record.key].append(each)
    return [
        row
        for (start, key), seen in windows.items()
        for row in _aggregated(clock, start, start + size, key, _counted(seen))
    ]


def session_windows(history: History, name: str, *, gap: int) -> list[Row]:
    """Start, end, key, count and sum of sessions: records of a key whose distance is at most ``gap``."""
    clock = _Clock(history, [name])
    keys: defaultdict[str, dict[tuple[int, str, int], int]] = defaultdict(dict)
    for values, count in _counted(_timely(history, name, clock)).items():
        keys[values[1]][values] = count
    return [
        row
        for key, counted in keys.items()
        for session in _sessions(counted, gap)
        for row in _aggregated(clock, min(session)[0], max(session)[0] + gap, key, session)
    ]


def _sessions(counted: dict[tuple[int, str, int], int], gap: int) -> list[dict[tuple[int, str, int], int]]:
    sessions: list[dict[tuple[int, str, int], int]] = []
    for values in sorted(counted):
        if not sessions or values[0] > max(sessions[-1])[0] + gap:
            sessions.append({})
        sessions[-1][values] = counted[values]
    return sessions


def _aggregated(
    clock: _Clock, start: int, end: int, key: str, counted: dict[tuple[int, str, int], int]
) -> Iterator[Row]:
    if counted:
        total = sum(count * values[2] for values, count in counted.items())
        yield from _rows(clock.passes(end), 1, (start, end, key, sum(counted.values()), total))


def interval_join(
    history: History, left: str, right: str, *, before: int, after: int, outer: Sequence[str] = ()
) -> list[Row]:
    """Records of one key with ``left.time`` between ``right.time - before`` and ``right.time + after``.

    Values of both; those of a record without any other are beside ``None`` if its side is among ``outer``.
    """
    clock = _Clock(history, [left, right])
    lefts, rights = _timely(history, left, clock), _timely(history, right, clock)

    def match(one: _Seen, other: _Seen) -> bool:
        apart = one.record.time - other.record.time
        return one.record.key == other.record.key and -before <= apart <= after

    found = [
        Row(max(one.at, other.at), op, (*one.record.values, *other.record.values))
        for one in lefts
        for other in rights
        if match(one, other)
        for op in [APPEND if one.record.sign * other.record.sign > 0 else RETRACT]
    ]
    if left in outer:
        for each, at in _alone(clock, lefts, rights, match, before):
            found += _rows(at, each.sign, (*each.values, None, None, None))
    if right in outer:
        for each, at in _alone(clock, rights, lefts, lambda one, other: match(other, one), after):
            found += _rows(at, each.sign, (None, None, None, *each.values))
    return found


def _alone(
    clock: _Clock, seen: list[_Seen], others: list[_Seen], match: Callable[[_Seen, _Seen], bool], wait: int
) -> Iterator[tuple[Record, int | None]]:
    """Records that nothing matches but what cancels, and where that is certain: ``wait`` after their time."""
    for each in seen:
        if not _counted(other for other in others if match(each, other)):
            closes = clock.passes(each.record.time + wait)
            yield each.record, None if closes is None else max(each.at, closes)


def as_of_join(history: History, left: str, right: str, *, outer: bool = False) -> list[Row]:
    """Records of ``left`` with what ``right`` had for their key at their time; without that only if ``outer``."""
    clock = _Clock(history, [left, right])
    versions = sorted(_timely(history, right, clock), key=lambda each: each.record.time)  # else as they came
    found: list[Row] = []
    for values, count in _counted(_timely(history, left, clock)).items():
        past = [each.record for each in versions if each.record.key == values[1] and each.record.time <= values[0]]
        if past and past[-1].sign > 0:
            found += _rows(clock.passes(values[0]), count, (*values, *past[-1].values))
        elif outer:
            found += _rows(clock.passes(values[0]), count, (*values, None, None, None))
    return found


def distinct(history: History, *names: str) -> list[Row]:
    """Time and key of the records of all of them, each once."""
    clock = _Clock(history, names)
    counts: Counter[tuple[int, str]] = Counter()
    for name in names:
        for (time, key, _), count in _counted(_timely(history, name, clock)).items():
            counts[time, key] += count
    return [
        row
        for values, count in counts.items()
        if count
        for row in _rows(clock.passes(values[0]), 1 if count > 0 else -1, values)
    ]
