"""Records of cities, tagged by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from opendatafabric.data.slice_format import TIMESTAMP
from pipeline.epochs.records import NO_WATERMARK, TaggedRecords

SCHEMA = pa.schema([("event_time", TIMESTAMP), ("city", pa.string()), ("n", pa.int64())])


def tagged(rows: Sequence[tuple[int, int | None, int | None, str | None, int | None]]) -> TaggedRecords:
    """Operation, watermark before the block, event time, city and number of each; offsets count up."""
    operations, marks, times, cities, numbers = zip(*rows, strict=True) if rows else ((),) * 5
    columns = [
        pa.array(times, pa.int64()).cast(TIMESTAMP),
        pa.array(cities, pa.string()),
        pa.array(numbers, pa.int64()),
    ]
    return TaggedRecords(
        pa.table(columns, schema=SCHEMA),
        "event_time",
        np.arange(len(rows), dtype=np.int64),
        np.array(operations, np.int32),
        np.array([NO_WATERMARK if mark is None else mark for mark in marks], np.int64),
    )
