"""One step of a join with what an input had at the time of each record.

A version of a key is valid from its event time to that of the next one; of several of one time the last counts. What
was retracted or corrected is no version any more, from its time on. Records are given when the watermark has reached
their time: then everything of that time is there, or late.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from opendatafabric.instant import Instant
from pipeline.epochs.as_of_plan import AsOfJoin
from pipeline.epochs.found_rows import Query
from pipeline.epochs.net_rows import net_rows
from pipeline.epochs.records import EpochResult, EpochStep, Integers, Mask, TaggedRecords, in_milliseconds
from pipeline.epochs.temporal_tables import with_validity
from pipeline.projection.keys import combined, encode

_FOREVER: Final = in_milliseconds(Instant.from_rfc3339("9999-12-31T00:00:00Z"))


def looked_up(step: EpochStep, join: AsOfJoin, query: Query) -> EpochResult:
    """The rows of a step, and of each input what is still needed."""
    timely = step.timely.inputs
    records, versions = timely[join.records], timely[join.versions]
    due = records.only(records.times <= step.watermark)
    places, signs = net_rows(due.records, due.signs).repeated()
    follows = _following(versions, join.primary_key)
    given = [each.records.slice(0, 0) for each in timely]
    given[join.records] = due.records.take(pa.array(places))
    given[join.versions] = _valid(versions, follows)
    found = query(given)
    met = found.positions[0 if join.records_come_first else 1] - sum(map(len, given[: join.records]))
    kept = [each.only(each.times > step.watermark) for each in timely]
    kept[join.versions] = versions.only(_still_needed(versions, follows, step.watermark))
    return EpochResult(found.rows, signs[met], tuple(kept))


def _valid(versions: TaggedRecords, follows: Integers) -> pa.Table:
    is_there: Mask = versions.signs > 0
    there = versions.only(is_there)
    return with_validity(there.records, there.times, follows[is_there])


def _following(versions: TaggedRecords, primary_key: tuple[str, ...]) -> Integers:
    """Of each record the time of the next one of its key."""
    columns = [combined(versions.records.column(name)) for name in primary_key]
    keys = encode(columns, len(versions)).dictionary_encode().indices.to_numpy()
    order = np.lexsort((versions.offsets, versions.times, keys))
    follows = np.full(len(versions), _FOREVER, np.int64)
    is_same = keys[order[1:]] == keys[order[:-1]]
    follows[order[:-1][is_same]] = versions.times[order[1:]][is_same]
    return follows


def _still_needed(versions: TaggedRecords, follows: Integers, watermark: int) -> Mask:
    """Those that a later record can meet: of what is past, the last of a key, if it was not taken back."""
    is_last: Mask = (follows > watermark) & (versions.signs > 0)
    return is_last | (versions.times > watermark)
