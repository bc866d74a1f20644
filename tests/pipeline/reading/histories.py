"""Datasets with a past, made without an engine: records with their operations, a slice for each day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.changelog import OperationType
from opendatafabric.data.slice_format import system_fields
from opendatafabric.metadata.events import AddPushSource, MetadataEvent, SetDataSchema
from opendatafabric.metadata.sources import MergeStrategy, MergeStrategySnapshot
from pipeline.commit import plan_commit, position_of, run_commit
from pipeline.ingest_request import IngestAnswer, RowCounts, instant_of
from pipeline.slices import write_slice
from storage.dataset import Dataset
from tests.pipeline.datasets import csv_source, day, new_dataset

A, R, CF, CT = OperationType
SCHEMA = pa.schema([*system_fields(), ("city", pa.string()), ("population", pa.int64())])
BY_CITY = MergeStrategySnapshot(("city",), None)

Row = tuple[OperationType, int, str, int]
"""Operation, day of the event, city, population."""

PAST: dict[int, list[Row]] = {
    2: [(A, 1, "kyiv", 3), (A, 1, "lviv", 2)],
    3: [(CF, 1, "kyiv", 3), (CT, 3, "kyiv", 4), (A, 3, "odesa", 5)],
    5: [(R, 1, "lviv", 2)],
}
"""What three days added: kyiv was corrected, lviv taken back."""


def source(merge: MergeStrategy | None = BY_CITY, name: str = "default") -> AddPushSource:
    """A push source of that strategy."""
    return csv_source(merge, name)


async def add(dataset: Dataset, folder: Path, rows: list[Row], *, on: int, schema: pa.Schema = SCHEMA) -> None:
    """Append ``rows`` as a slice of that day."""
    position = await position_of(dataset)
    start = position.next_offset
    columns: list[Any] = [
        list(range(start, start + len(rows))),
        [int(row[0]) for row in rows],
        [day(on).to_datetime()] * len(rows),
        [day(row[1]).to_datetime() for row in rows],
        *([row[index] for row in rows] for index in range(2, len(schema) - 2)),
    ]
    table = pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )
    written = write_slice(table, schema, folder / f"slice-of-day-{on}-{start}")
    first = (
        SetDataSchema(raw_arrow_schema=None, schema=arrow_schema_to_odf(schema)) if position.schema is None else None
    )
    answer = IngestAnswer(RowCounts(), first, written.data_slice(), instant_of(written.last_event_time))
    await run_commit(dataset, plan_commit(position, answer, made=written.path, system_time=day(on)))


async def with_past(folder: Path, *events: MetadataEvent, past: dict[int, list[Row]] = PAST, **options: Any) -> Dataset:
    """A dataset with those events and then the days of ``past``."""
    dataset = await new_dataset(*events, **options)
    for on, rows in past.items():
        await add(dataset, folder, rows, on=on)
    return dataset
