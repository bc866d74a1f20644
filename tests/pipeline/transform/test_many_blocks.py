"""A coordinator that catches up on many small blocks of an input does it in one step and few jobs of Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import TIMESTAMP, system_fields
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import AddData, SetDataSchema, SetTransform
from opendatafabric.metadata.slices import DataSlice
from pipeline.slices import write_slice
from tests.pipeline.datasets import blocks_of, csv_source, day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, query_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCKS = 1_000
SCHEMA = pa.schema([*system_fields(), pa.field("n", pa.int64())])
QUERIES = {
    "record by record": "select event_time, n * 2 as twice from numbers where n % 10 <> 0",
    "together": "select event_time, n * 2 as twice from numbers where n % 10 <> 0 order by offset",
}


def one_record(offset: int) -> pa.Table:
    """That has its offset as its number."""
    times = pa.array([offset], TIMESTAMP)
    return pa.table([pa.array([offset]), pa.array([0], pa.int32()), times, times, pa.array([offset])], schema=SCHEMA)


async def add_numbers(workshop: Workshop, count: int) -> None:
    """A root of so many blocks with one record each."""
    dataset = await workshop.add("numbers", csv_source(), SetDataSchema(schema=arrow_schema_to_odf(SCHEMA)))
    head = (await blocks_of(dataset))[-1]
    blocks: list[HashedBlock] = []
    for offset in range(count):
        path = workshop.folder / f"slice-{offset}"
        made = write_slice(one_record(offset), SCHEMA, path).data_slice()
        assert isinstance(made, DataSlice)
        await dataset.objects.put(data_key(made.physical_hash), path.read_bytes())
        last = blocks[-1] if blocks else head
        event = AddData(prev_offset=offset - 1 if offset else None, new_data=made)
        blocks.append(encode_block(MetadataBlock(day(2), last.hash, last.block.sequence_number + 1, event)))
    await dataset.append(blocks, expected_head=head.hash)


def in_dialect(query: str, version: str | None) -> SetTransform:
    """Over the numbers."""
    event = query_over(query, "numbers", engine="spark")
    return replace(event, transform=replace(event.transform, version=version))


@pytest.mark.parametrize(
    ("name", "version"), [(each, None) for each in QUERIES] + [("record by record", "odf-epoch/1")]
)
async def test_a_thousand_blocks_are_one_step(
    spark: SparkSession, tmp_path: Path, name: str, version: str | None
) -> None:
    (tmp_path / "files").mkdir()
    workshop = Workshop(LocalEngine(tmp_path / "engine", lambda: spark), tmp_path / "files")
    await add_numbers(workshop, BLOCKS)
    await workshop.add("derived", in_dialect(QUERIES[name], version))
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    outcome = await workshop.step("derived", on=3)
    assert outcome is not None
    assert outcome.answer.rows.read == BLOCKS
    assert len(await workshop.steps("derived")) == 1
    expected = [2 * number for number in range(BLOCKS) if number % 10]
    assert [row["twice"] for row in await workshop.rows("derived", "twice")] == expected
    assert len(set(tracker.getJobIdsForGroup()) - before) <= 4
