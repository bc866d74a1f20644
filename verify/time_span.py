"""Times in the columns of a slice, as the format has them: milliseconds since 1970 in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.errors import MalformedInput
from opendatafabric.instant import Instant

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From the lowest to the highest time that was seen; ``None`` before any was."""

    first: int | None = None
    last: int | None = None

    def with_column(self, batch: pa.RecordBatch, name: str) -> TimeSpan:
        """With the times of one more batch; dates count as midnight, and columns that are no times for nothing."""
        if name not in batch.schema.names:
            return self
        column = batch.column(name)
        if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
            return self
        ends = pc.min_max(column)
        found = [ends[end].cast(pa.timestamp("ms"), safe=False).value for end in ("min", "max")]
        known = [each for each in (self.first, self.last, *found) if each is not None]
        return TimeSpan(min(known), max(known)) if known else self

    def has_other_than(self, milliseconds: int) -> bool:
        """Whether any time was seen but that one."""
        return not {self.first, self.last} <= {None, milliseconds}

    def __str__(self) -> str:
        ends = [moment_text(each) for each in (self.first, self.last) if each is not None]
        return " to ".join(dict.fromkeys(ends))


def first_other(column: pa.Array, milliseconds: int) -> int:
    """Where the first time stands that is not that one; -1 if none does."""
    same = pc.equal(column.cast(pa.timestamp("ms"), safe=False), pa.scalar(milliseconds, pa.timestamp("ms")))
    return int(pc.index(pc.fill_null(same, True), False).as_py())


def as_milliseconds(instant: Instant | None) -> int | None:
    """Cut to milliseconds; ``None`` for years that no slice can hold."""
    try:
        return None if instant is None else (instant.to_datetime() - _EPOCH) // _MS
    except MalformedInput:
        return None


def instant_of(milliseconds: int) -> Instant:
    """The moment; ``OverflowError`` for one that no calendar has."""
    return Instant.from_datetime(_EPOCH + milliseconds * _MS)


def moment_text(milliseconds: int) -> str:
    """For people; the number itself where no calendar has the moment."""
    try:
        return str(instant_of(milliseconds))
    except OverflowError:
        return f"{milliseconds} ms since 1970"
