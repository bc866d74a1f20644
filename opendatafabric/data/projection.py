"""The projection of a changelog: the state that its records lead to (spec: Projection, Retractions and Corrections).

With a primary key the last record of each key counts. Without one a retraction or correction takes back the record that
it repeats: the last one before it with the same values, event time included, that was not taken back yet. Both come out
as offsets, since a record is told from all others by its offset alone: so thin columns are enough to decide which
records stay, and the rest of them may be read after.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.changelog import DEFAULT_VOCABULARY, OperationType, column_of
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.instant import Instant

_TAKES_BACK: Final = (OperationType.RETRACT, OperationType.CORRECT_FROM)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

Rows = npt.NDArray[np.int64]


def project(
    records: pa.Table, primary_key: Sequence[str] | None, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY
) -> pa.Table:
    """The records of the state, in the order of offsets, with all columns; they may come in any order.

    With a key: of each the last record, unless that is a retraction; nulls in a key equal each other. ``None``: all but
    retractions, corrections and what they take back. Views of text and bytes become plain.

    Raises:
        MalformedData: no such columns, or key columns of types that cannot be compared.
    """
    if primary_key is not None:
        last = latest_records(records, primary_key, vocabulary)
        operations = column_of(last, vocabulary.operation_type_column)
        return last.filter(pc.fill_null(pc.not_equal(operations, int(OperationType.RETRACT)), True))
    ordered = _in_order(records, vocabulary)
    gone = taken_back(suspects(ordered, reversals(ordered, vocabulary), vocabulary), vocabulary)
    stays = pc.invert(pc.is_in(column_of(ordered, vocabulary.offset_column), gone))
    return ordered.filter(pc.and_(stays, pc.invert(_reverses(ordered, vocabulary))))


def latest_records(
    records: pa.Table, primary_key: Sequence[str], vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY
) -> pa.Table:
    """Of each primary key the record with the highest offset, retractions included.

    What a long changelog leads to can be found slice by slice: join the latest records so far with those of the next
    slice, and take the latest of these.

    Raises:
        MalformedData: as ``project``.
    """
    ordered = _in_order(records, vocabulary)
    rows = pa.chunked_array([pa.array(np.arange(len(ordered)))])
    keyed = pa.table([*(column_of(ordered, name) for name in primary_key), rows], [*_key_names(primary_key), "row"])
    try:
        groups = keyed.group_by(_key_names(primary_key), use_threads=False).aggregate([("row", "max")])
    except pa.ArrowException as error:
        raise MalformedData(f"the primary key {', '.join(primary_key)} cannot be compared: {error}") from None
    return ordered.take(groups["row_max"].take(pc.sort_indices(groups["row_max"])))


def reversals(records: pa.Table, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> pa.Table:
    """The records that take others back: retractions and the first halves of corrections."""
    return records.filter(_reverses(records, vocabulary))


def suspects(records: pa.Table, reversing: pa.Table, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> pa.Table:
    """Those of ``records`` that one of ``reversing`` may take back, or that are one of them; the rest surely stays.

    Lets a long changelog be searched slice by slice: what this leaves of all slices goes to ``taken_back``.
    """
    records, reversing = without_views(records), without_views(reversing)
    found: Any = pa.chunked_array([pa.repeat(pa.scalar(len(reversing) > 0), len(records))])
    for name in _values(records, vocabulary):
        known = column_of(reversing, name).combine_chunks()
        if not pa.types.is_nested(known.type):
            found = pc.and_(found, pc.is_in(column_of(records, name), value_set=known))
    return records.filter(found)


def taken_back(records: pa.Table, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> pa.Array:
    """Offsets of the records that later ones take back, by their values."""
    if not len(records):
        return pa.array([], pa.int64())
    ordered = _in_order(records, vocabulary)
    groups = _groups_of_equals(ordered, vocabulary)
    order = np.lexsort((np.arange(len(groups)), groups))
    steps = np.where(_numpy(_reverses(ordered, vocabulary))[order], -1, 1)
    gone = np.sort(order[_does_not_stay(groups[order], steps)])
    return column_of(ordered, vocabulary.offset_column).combine_chunks().cast(pa.int64()).take(pa.array(gone))


def happened_by(records: pa.Table, moment: Instant, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> Any:
    """For each record whether its event time is known and not after ``moment``; a date counts as its midnight in UTC.

    Raises:
        MalformedData: no event times, or of another type.
    """
    times = column_of(records, vocabulary.event_time_column)
    if pa.types.is_date(times.type):
        times = times.cast(pa.timestamp("ms"))
    if not pa.types.is_timestamp(times.type):
        raise MalformedData("event times are neither dates nor timestamps", found=times.type)
    latest = (moment.to_datetime() - _EPOCH) // timedelta(microseconds=1) * 1_000 // _NANOSECONDS[times.type.unit]
    return pc.fill_null(pc.less_equal(times, pa.scalar(latest, pa.int64()).cast(times.type)), False)


def _in_order(records: pa.Table, vocabulary: DatasetVocabulary) -> pa.Table:
    records = without_views(records)
    return records.take(pc.sort_indices(column_of(records, vocabulary.offset_column)))


def _key_names(primary_key: Sequence[str]) -> list[str]:
    """Names of our own, so that no column can collide with the row number."""
    return [f"key{index}" for index in range(len(primary_key))]


def _reverses(records: pa.Table, vocabulary: DatasetVocabulary) -> Any:
    operations = column_of(records, vocabulary.operation_type_column).cast(pa.int64())
    return pc.fill_null(pc.is_in(operations, pa.array([*_TAKES_BACK], pa.int64())), False)


def _values(records: pa.Table, vocabulary: DatasetVocabulary) -> list[str]:
    """The columns that a retraction repeats: all but offset, operation and system time."""
    own = {vocabulary.offset_column, vocabulary.operation_type_column, vocabulary.system_time_column}
    return [name for name in records.column_names if name not in own]


def _groups_of_equals(records: pa.Table, vocabulary: DatasetVocabulary) -> Rows:
    """For each record a number that it shares with exactly those of the same values."""
    groups: Rows = np.zeros(len(records), np.int64)
    for name in _values(records, vocabulary):
        column = column_of(records, name).combine_chunks()
        if pa.types.is_nested(column.type):
            column = pa.array([repr(value) for value in column.to_pylist()])
        codes = pc.fill_null(column.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        _, groups = np.unique(groups * (len(records) + 1) + codes + 1, return_inverse=True)
    return groups


def _does_not_stay(groups: Rows, steps: Rows) -> npt.NDArray[np.bool_]:
    """Which additions a later reversal of their group takes back, the nearest first, as brackets close.

    ``groups`` ascend. Depth is how many records of a group there are after each step, never below none; an addition is
    gone if the depth ever falls below the one it made.
    """
    apart = groups * (2 * len(groups) + 2)
    sums = np.cumsum(steps)
    first = np.searchsorted(groups, groups)
    sums = sums - (sums - steps)[first]
    lowest = np.minimum.accumulate(sums - apart) + apart
    depth = sums - np.minimum(0, lowest)
    later = np.minimum.accumulate((depth + apart)[::-1])[::-1] - apart
    return (steps > 0) & (later < depth)


def _numpy(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
