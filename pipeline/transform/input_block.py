"""A block of data of an input that a step sees for the first time: how far it goes, and the watermark on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opendatafabric.instant import Instant
from opendatafabric.metadata.events import DataEvent


@dataclass(frozen=True, slots=True)
class InputBlock:
    """``last_offset`` is that of the last record of the input up to this block, ``None`` if there is none yet.

    Watermarks are those of the input itself; a record that comes in this block is late by the one before it.
    """

    last_offset: int | None
    watermark_before: Instant | None
    watermark: Instant | None

    def to_message(self) -> list[Any]:
        """As JSON values."""
        return [self.last_offset, _text(self.watermark_before), _text(self.watermark)]

    @classmethod
    def from_message(cls, message: list[Any]) -> InputBlock:
        """What ``to_message`` gave."""
        last_offset, before, after = message
        return cls(last_offset, instant_or_none(before), instant_or_none(after))


def input_blocks(
    events: Sequence[DataEvent], *, last_offset: int | None, watermark: Instant | None
) -> Iterator[InputBlock]:
    """Of new events, the oldest first, after a block that ended there."""
    for event in events:
        before = watermark
        known = [each for each in (watermark, event.new_watermark) if each is not None]
        watermark = max(known, default=None)
        if event.new_data is not None:
            last_offset = event.new_data.offset_interval.end
        yield InputBlock(last_offset, before, watermark)


def instant_or_none(text: str | None) -> Instant | None:
    """A time of a message."""
    return None if text is None else Instant.from_rfc3339(text)


def _text(moment: Instant | None) -> str | None:
    return None if moment is None else str(moment)
