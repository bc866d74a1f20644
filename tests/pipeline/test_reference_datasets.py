"""From the sources behind the reference's datasets come the same records: schema, offsets, times and logical hashes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.codec.block_codec import decode_block, encode_block
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, SetDataSchema
from pipeline.ingest import Given, ingest
from pipeline.push_sources import push_source
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import open_dataset
from tests.pipeline.local_engine import LocalEngine
from tests.source_tree import ROOT
from tests.vectors.load import FOLDER

SOURCES = ROOT / "examples" / "sources"
WEATHER_LINES_POLLED_FIRST = 1_097


@dataclass(frozen=True)
class Case:
    """A dataset of the reference and the files that went into it, in order.

    ``has_ties``: records of one event time, which the reference leaves in any order and we in that of the input.
    """

    name: str
    files: tuple[str, ...]
    has_ties: bool = False


CASES = [
    Case("us.faa.airports", ("airports-1.csv", "airports-2.csv", "airports-3.csv", "airports-1.csv")),
    Case("us.noaa.seattle-weather", ("first lines", "seattle-weather.csv")),
    Case("com.yahoo.stocks.monthly", ("stocks.csv",), has_ties=True),
    Case("iowa.electricity", ("ie1.csv", "ie2.csv")),
]


@dataclass(frozen=True)
class Made:
    """Blocks of the reference and ours, and both datasets."""

    case: Case
    theirs: list[HashedBlock]
    ours: list[HashedBlock]
    their_dataset: Dataset
    our_dataset: Dataset


@pytest.fixture(params=CASES, ids=lambda case: case.name)
async def made(request: Any, tmp_path: Path) -> Made:
    """The dataset of the case, made again from its sources with the same times."""
    case: Case = request.param
    engine = LocalEngine(tmp_path / "engine")
    their_dataset = open_dataset(str(FOLDER / "datasets" / case.name))
    theirs = await blocks_of(their_dataset)
    ours = Dataset(MemoryObjectStore(), MemoryRefStore())
    before = [block for block in theirs if not isinstance(block.event, SetDataSchema | AddData)]
    await ours.append(before, expected_head=None)
    added = [block for block in theirs if isinstance(block.event, AddData)]
    for name, block in zip(case.files, added, strict=True):
        assert isinstance(block.event, AddData)
        given = Given(file_of(name, tmp_path), state=block.event.new_source_state)
        await ingest(
            ours,
            engine,
            given,
            choose=lambda position: push_source(position.state, None),
            system_time=block.block.system_time,
        )
    return Made(case, theirs, await blocks_of(ours), their_dataset, ours)


async def blocks_of(dataset: Dataset) -> list[HashedBlock]:
    """Oldest first."""
    head = await dataset.head()
    assert head is not None
    return [block async for batch in dataset.walk(head) for block in batch][::-1]


def file_of(name: str, folder: Path) -> Path:
    """The file of that name, or the beginning of the weather."""
    if name != "first lines":
        return SOURCES / name
    beginning = folder / "weather.csv"
    lines = (SOURCES / "seattle-weather.csv").read_text().splitlines(keepends=True)
    beginning.write_text("".join(lines[:WEATHER_LINES_POLLED_FIRST]))
    return beginning


def without_files(block: HashedBlock, *, has_ties: bool) -> Any:
    """The event without what depends on how a Parquet file is written, and on the order of ties."""
    event = block.event
    if isinstance(event, AddData) and event.new_data is not None:
        return (
            event.prev_offset,
            None if has_ties else event.new_data.logical_hash,
            event.new_data.offset_interval,
            event.new_watermark,
            event.new_source_state,
        )
    return event


async def records_of(dataset: Dataset, block: HashedBlock) -> pa.Table:
    """The slice that a block adds."""
    assert isinstance(block.event, AddData)
    assert block.event.new_data is not None
    raw = await dataset.objects.read(data_key(block.event.new_data.physical_hash), size_max=2**30)
    return without_views(pq.read_table(pa.BufferReader(raw)))


def comparable(records: pa.Table, case: Case) -> list[dict[str, Any]]:
    """The rows; where there are ties, sorted and without their offsets."""
    if not case.has_ties:
        return records.to_pylist()
    rows = records.drop_columns(["offset"]).to_pylist()
    return sorted(rows, key=lambda row: (row["event_time"], row["symbol"]))


class TestDatasetsOfTheReference:
    async def test_the_events_are_the_same_but_for_the_bytes_of_the_files(self, made: Made) -> None:
        ties = made.case.has_ties
        assert [without_files(block, has_ties=ties) for block in made.ours] == [
            without_files(block, has_ties=ties) for block in made.theirs
        ]

    async def test_the_records_are_the_same(self, made: Made) -> None:
        for ours, theirs in zip(made.ours, made.theirs, strict=True):
            if isinstance(theirs.event, AddData):
                ours_read = await records_of(made.our_dataset, ours)
                theirs_read = await records_of(made.their_dataset, theirs)
                assert ours_read.schema.names == theirs_read.schema.names
                assert comparable(ours_read, made.case) == comparable(theirs_read, made.case)

    async def test_the_blocks_decode_and_encode_to_the_same_bytes(self, made: Made) -> None:
        for block in made.ours:
            decoded = decode_block(block.raw)
            assert decoded == block
            assert encode_block(decoded.block) == block
