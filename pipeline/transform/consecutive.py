"""Steps of one input that follow one another, as one request: what each reads begins where the one before ended.

All slices are read together, and what comes of them is cut where steps end. That is the same as one by one only for
queries that go record by record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.transform.request import TransformRequest


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step among others: it reads so many ``slices``, and of the input the offsets up to ``last_offset``."""

    made: Path
    system_time: Instant
    next_offset: int
    slices: int
    last_offset: int

    def to_message(self) -> list[Any]:
        """As JSON values."""
        return [str(self.made), str(self.system_time), self.next_offset, self.slices, self.last_offset]

    @classmethod
    def from_message(cls, message: list[Any]) -> StepEnd:
        """What ``to_message`` gave."""
        made, system_time, *numbers = message
        return cls(Path(made), Instant.from_rfc3339(system_time), *numbers)


@dataclass(frozen=True, slots=True)
class ConsecutiveRequest:
    """``together`` reads what all steps read; each of them writes a slice of its own."""

    together: TransformRequest
    ends: tuple[StepEnd, ...]

    def requests(self) -> Iterator[TransformRequest]:
        """What each step writes; of inputs they have those of all."""
        for end in self.ends:
            yield replace(self.together, made=end.made, system_time=end.system_time, next_offset=end.next_offset)

    def to_message(self) -> dict[str, Any]:
        """As JSON values."""
        return {"together": self.together.to_message(), "ends": [end.to_message() for end in self.ends]}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> ConsecutiveRequest:
        """What ``to_message`` gave."""
        together = TransformRequest.from_message(message["together"])
        return cls(together, tuple(map(StepEnd.from_message, message["ends"])))


def joined(requests: Sequence[TransformRequest]) -> ConsecutiveRequest | None:
    """Those of one input each, alike but for what they read and write; ``None`` if there are gaps between them."""
    given = [each for request in requests for each in request.inputs]
    known = [each.interval for each in given if each.interval is not None]
    if not known or any(before.end + 1 != after.start for before, after in pairwise(known)):
        return None
    slices = tuple(chain.from_iterable(each.slices for each in given))
    whole = replace(given[0], slices=slices, interval=OffsetInterval(known[0].start, known[-1].end), blocks=())
    ends, last_offset = [], known[0].start - 1
    for request, each in zip(requests, given, strict=True):
        last_offset = last_offset if each.interval is None else each.interval.end
        count = 0 if each.interval is None else len(each.slices)
        ends.append(StepEnd(request.made, request.system_time, request.next_offset, count, last_offset))
    return ConsecutiveRequest(replace(requests[0], inputs=(whole,)), tuple(ends))


def cut_at(pieces: Iterator[pa.Table], last_offsets: Sequence[int]) -> Iterator[pa.Table]:
    """The rows that came of the offsets up to each of these; rows say theirs in the last column, which is left out.

    Raises:
        UnsupportedOperation: rows are not in the order of their offsets, or lie behind the last one.
    """
    held: list[pa.Table] = []
    done, reached = 0, -1
    for piece in pieces:
        offsets = _in_order(piece, reached, last_offsets[-1])
        reached, begin = (int(offsets[-1]) if len(offsets) else reached), 0
        rows = piece.remove_column(piece.num_columns - 1)
        for end in np.searchsorted(offsets, last_offsets[done:], side="right"):
            if end == len(offsets):
                break
            yield pa.concat_tables([*held, rows.slice(begin, end - begin)])
            held, begin, done = [], int(end), done + 1
        held.append(rows.slice(begin))
    left = pa.concat_tables(held)
    yield left
    yield from [left.slice(len(left))] * (len(last_offsets) - done - 1)


def _in_order(piece: pa.Table, reached: int, last: int) -> Any:
    offsets = piece.column(piece.num_columns - 1).to_numpy()
    found = np.concatenate([[reached], offsets, [last]])
    if len(offsets) and not np.all(found[:-1] <= found[1:]):
        raise UnsupportedOperation("rows do not come in the order of the records that they came of")
    return offsets
