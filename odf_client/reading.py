"""Reading the records that were chosen, from slices that come in as they are needed.

Of a slice that is needed the whole file is fetched and proved by its hash, which is over the whole; from the file only
the columns that were chosen are decoded, and only row groups that hold chosen offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from odf_client.bars import Shown, shown
from odf_client.chosen import Choice, between
from odf_client.held import Held
from odf_client.waiting import wait
from opendatafabric.metadata.slices import OffsetInterval
from storage.records.moment import KnownRecords, Moment, known_records, schema_of
from storage.records.records import overlapping, records

_OFFSET_MAX = 2**62


def known_at(held: Held, moment: Moment) -> KnownRecords:
    """What counts at that moment; errors as ``known_records``."""
    return wait(known_records(held.here, moment, held.heads))


def reader_of(held: Held, choice: Choice, progress: Shown) -> pa.RecordBatchReader:
    """The chosen records, batch by batch, in the order of offsets; slices are fetched when the first batch is read.

    Raises:
        NotFound, BlockNotFound: no such column, no such block.
    """
    known = known_at(held, choice.moment)
    first = 0 if choice.since_block is None else known_at(held, Moment(choice.since_block)).next_offset
    return pa.RecordBatchReader.from_batches(
        schema_of(known, choice.columns), _batches(held, known, choice, _since(choice.offsets, first), progress)
    )


def _batches(
    held: Held, known: KnownRecords, choice: Choice, offsets: OffsetInterval | None, progress: Shown
) -> Iterator[pa.RecordBatch]:
    names = schema_of(known, choice.columns).names
    time = known.vocabulary.event_time_column
    filters = choice.event_time != (None, None)
    read = [*names, time] if filters and time not in names else names
    needed = known.slices if not choice.wanted.is_changelog else overlapping(known.slices, offsets)
    with _making_room(held), shown(progress) as advance, held.slices.fetching(needed, advance) as path_of:
        for batch in records(known, path_of, choice.wanted, columns=read, offsets=offsets):
            found = between(batch, time, choice.event_time) if filters else batch
            if found.num_rows:
                yield found.select(names)


def _since(offsets: OffsetInterval | None, first: int) -> OffsetInterval | None:
    """Those of ``offsets`` that are not before ``first``; an interval that holds nothing ends before it begins."""
    if first == 0:
        return offsets
    return OffsetInterval(
        max(first, 0 if offsets is None else offsets.start), _OFFSET_MAX if offsets is None else offsets.end
    )


@contextmanager
def _making_room(held: Held) -> Iterator[None]:
    yield
    if not held.lies_here:
        held.cache.make_room()
