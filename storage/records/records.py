"""The records that were asked for, batch by batch, from slices that are files by now or when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from storage.records.moment import KnownRecords, schema_of
from storage.records.slice_files import slice_batches
from storage.records.state import Wanted, state_offsets

PathOf = Callable[[DataSlice], Path]
"""Where the proved bytes of a slice lie; may fetch them first."""


def records(
    known: KnownRecords,
    path_of: PathOf,
    wanted: Wanted,
    *,
    columns: Sequence[str] | None = None,
    offsets: OffsetInterval | None = None,
) -> Iterator[pa.RecordBatch]:
    """The ``wanted`` records in the order of offsets; ``offsets`` leaves out others, and slices that hold only others.

    Raises:
        NotFound: there is no such column.
        MalformedData: a slice cannot be read.
    """
    schema = schema_of(known, columns)
    offset = known.vocabulary.offset_column
    stays = None if wanted.is_changelog else state_offsets(map(path_of, known.slices), known, wanted.as_of).to_numpy()
    for data_slice in overlapping(known.slices, offsets):
        rows = None if offsets is None else _rows_between(data_slice.offset_interval, offsets)
        for batch in slice_batches(path_of(data_slice), known.schema, [*schema.names, offset], rows):
            chosen = _chosen(batch.column(len(schema)).to_numpy(zero_copy_only=False), stays, offsets)
            found = pa.RecordBatch.from_arrays(batch.columns[: len(schema)], schema=schema).filter(pa.array(chosen))
            if found.num_rows:
                yield found


def overlapping(slices: Sequence[DataSlice], offsets: OffsetInterval | None) -> Sequence[DataSlice]:
    """Those that hold some of the offsets; an interval that ends before it begins has none."""
    if offsets is None:
        return slices
    first, last = offsets.start, offsets.end
    return [
        each
        for each in slices
        if first <= last and each.offset_interval.start <= last and first <= each.offset_interval.end
    ]


def _rows_between(held: OffsetInterval, offsets: OffsetInterval) -> range:
    """Positions in a slice of the records with those offsets, which follow one another."""
    return range(max(0, offsets.start - held.start), min(len(held), offsets.end - held.start + 1))


def _chosen(found: Any, stays: Any, offsets: OffsetInterval | None) -> Any:
    chosen = np.ones(len(found), np.bool_)
    if offsets is not None:
        chosen &= (found >= offsets.start) & (found <= offsets.end)
    if stays is not None:
        places = np.searchsorted(stays, found)
        chosen &= places < len(stays)
        chosen[chosen] = stays[places[chosen]] == found[chosen]
    return chosen
