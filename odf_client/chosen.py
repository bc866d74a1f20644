"""Which records are asked for: by offset, by time, up to when, as a changelog or as the state it leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import Multihash
from storage.records.moment import Moment
from storage.records.state import Wanted

Time = str | datetime
"""As in RFC 3339, or of a time zone."""


class Chosen(TypedDict, total=False):
    """``offsets``: the first and the last. ``event_time``: the first and the
    last, each may be ``None``. ``since_block``: only what was added after that block. ``at_block``, ``as_at``: only
    what was known at that block, or system time. ``projected``: the state, with retractions and corrections carried
    out, instead of every record; ``as_of``: of that what had happened by then.
    """

    offsets: tuple[int, int] | None
    event_time: tuple[Time | None, Time | None] | None
    since_block: str | None
    at_block: str | None
    as_at: Time | None
    as_of: Time | None
    projected: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The same, read."""

    columns: Sequence[str] | None
    offsets: OffsetInterval | None
    event_time: tuple[Instant | None, Instant | None]
    since_block: Multihash | None
    moment: Moment
    wanted: Wanted


def read_choice(columns: Sequence[str] | None, chosen: Chosen) -> Choice:
    """What was chosen.

    Raises:
        MalformedInput: a time or a hash that is none.
    """
    offsets = chosen.get("offsets")
    first, last = chosen.get("event_time") or (None, None)
    return Choice(
        columns,
        None if offsets is None else OffsetInterval(*offsets),
        (_instant(first), _instant(last)),
        _hash(chosen.get("since_block")),
        Moment(_hash(chosen.get("at_block")), _instant(chosen.get("as_at"))),
        Wanted(chosen.get("projected", False), _instant(chosen.get("as_of"))),
    )


def between(batch: pa.RecordBatch, column: str, times: tuple[Instant | None, Instant | None]) -> pa.RecordBatch:
    """The records whose time is neither before the first nor after the last; none of those that have no time."""
    values = batch.column(column).cast(pa.timestamp("us", "UTC"))
    keeps: Any = pc.is_valid(values)
    for compare, moment in zip((pc.greater_equal, pc.less_equal), times, strict=True):
        if moment is not None:
            keeps = pc.and_(keeps, compare(values, pa.scalar(moment.to_datetime(), pa.timestamp("us", "UTC"))))
    return batch.filter(keeps)


def text_of(moment: Time) -> str:
    """As in RFC 3339."""
    return moment if isinstance(moment, str) else moment.isoformat()


def _instant(moment: Time | None) -> Instant | None:
    if moment is None or isinstance(moment, str):
        return None if moment is None else Instant.from_rfc3339(moment)
    return Instant.from_datetime(moment)


def _hash(text: str | None) -> Multihash | None:
    return None if text is None else Multihash.from_text(text)
