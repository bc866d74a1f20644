"""The reader for programs: columns, offsets, moments, states; proved, streamed, from folders and from elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.projection import happened_by, project
from opendatafabric.errors import DatasetNotFound, HashMismatch, MalformedInput, NotFound, ObjectNotFound
from pipeline.reading import DatasetReader
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.reading.histories import A, add, new_dataset, source, with_past
from tests.source_tree import ROOT

EXAMPLES = str(ROOT / "examples" / "datasets")


def reader_of(folder: Path, *events: Any, **options: Any) -> DatasetReader:
    return DatasetReader(asyncio.run(with_past(folder, *events, **options)))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[DatasetReader]:
    with reader_of(tmp_path, source()) as found:
        yield found


def stored(folder: Path) -> Dataset:
    """In files, below ``store``."""
    (folder / "store").mkdir()
    return asyncio.run(with_past(folder, objects=LocalObjectStore(folder / "store")))


def cities(table: pa.Table) -> dict[str, int]:
    return dict(zip(table["city"].to_pylist(), table["population"].to_pylist(), strict=True))


def test_everything_is_read_in_the_order_of_offsets(reader: DatasetReader) -> None:
    table = reader.to_arrow()
    assert table["offset"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert table["op"].to_pylist() == [0, 0, 2, 3, 0, 1]


def test_only_the_columns_that_are_named_are_read_in_that_order(reader: DatasetReader) -> None:
    assert reader.to_arrow(["population", "city"]).column_names == ["population", "city"]


def test_a_column_that_is_not_there_is_named(reader: DatasetReader) -> None:
    with pytest.raises(NotFound, match="'country'"):
        reader.to_arrow(["country"])


def test_offsets_are_both_inclusive(reader: DatasetReader) -> None:
    assert reader.to_arrow(["offset"], offsets=(1, 3))["offset"].to_pylist() == [1, 2, 3]
    assert reader.to_arrow(["offset"], offsets=(7, 9)).num_rows == 0


def test_the_state_has_retractions_and_corrections_carried_out(reader: DatasetReader) -> None:
    assert cities(reader.to_arrow(state=True)) == {"kyiv": 4, "odesa": 5}


@pytest.mark.parametrize(
    ("as_at", "known"),
    [(1, {}), (2, {"kyiv": 3, "lviv": 2}), (4, {"kyiv": 4, "lviv": 2, "odesa": 5}), (5, {"kyiv": 4, "odesa": 5})],
)
def test_as_at_is_what_was_known_then(reader: DatasetReader, as_at: int, known: dict[str, int]) -> None:
    table = reader.to_arrow(as_at=str(day(as_at)), state=True)
    assert (cities(table) if known else table.to_pylist()) == (known or [])


def test_as_of_is_what_had_happened_by_then_with_all_that_is_known_now(reader: DatasetReader) -> None:
    assert cities(reader.to_arrow(as_of=str(day(2)))) == {}
    assert cities(reader.to_arrow(as_of=str(day(3)))) == {"kyiv": 4, "odesa": 5}


def test_both_times_cut_both_ways(reader: DatasetReader) -> None:
    assert cities(reader.to_arrow(as_at=str(day(2)), as_of=str(day(1)))) == {"kyiv": 3, "lviv": 2}
    assert cities(reader.to_arrow(as_at=str(day(4)), as_of=str(day(2)))) == {"lviv": 2}


def test_without_a_key_the_state_is_found_by_values(tmp_path: Path) -> None:
    with reader_of(tmp_path) as reader:
        assert cities(reader.to_arrow(state=True)) == {"kyiv": 4, "odesa": 5}
        assert cities(reader.to_arrow(as_at=str(day(4)), as_of=str(day(2)))) == {"lviv": 2}


def test_a_chain_is_read_up_to_a_block(tmp_path: Path) -> None:
    dataset = asyncio.run(with_past(tmp_path, source()))
    blocks = asyncio.run(blocks_of(dataset))
    with DatasetReader(dataset) as reader:
        assert reader.to_arrow(at_block=str(blocks[3].hash)).num_rows == 2


@pytest.mark.parametrize("options", [{"as_at": "yesterday"}, {"as_of": "2024"}, {"at_block": "f16"}])
def test_times_and_hashes_that_are_none_are_refused(reader: DatasetReader, options: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput):
        reader.to_arrow(**options)


def test_an_offset_column_of_another_name_is_found(tmp_path: Path) -> None:
    with DatasetReader(asyncio.run(with_past(tmp_path, source()))) as reader:
        assert reader.to_arrow(["city"], offsets=(4, 4), state=True)["city"].to_pylist() == ["odesa"]


def test_slices_are_read_only_when_they_are_reached(tmp_path: Path) -> None:
    dataset = stored(tmp_path)
    with DatasetReader(dataset) as reader:
        batches = reader.batches(["offset"])
        for path in list((tmp_path / "store" / "data").iterdir()):
            path.write_bytes(b"damaged")
        assert batches.schema.names == ["offset"]
        with pytest.raises(HashMismatch, match="damaged"):
            batches.read_next_batch()


def test_a_slice_that_is_gone_is_named(tmp_path: Path) -> None:
    dataset = stored(tmp_path)
    for path in list((tmp_path / "store" / "data").iterdir()):
        path.unlink()
    with DatasetReader(dataset) as reader, pytest.raises(ObjectNotFound):
        reader.to_arrow()


def test_it_works_where_a_loop_runs_already(reader: DatasetReader) -> None:
    async def in_a_notebook() -> int:
        return reader.to_arrow().num_rows

    assert asyncio.run(in_a_notebook()) == 6


def test_what_is_added_later_is_read_by_the_next_reading(tmp_path: Path) -> None:
    dataset = asyncio.run(with_past(tmp_path))
    with DatasetReader(dataset) as reader:
        assert reader.to_arrow().num_rows == 6
        asyncio.run(add(dataset, tmp_path, [(A, 6, "kharkiv", 1)], on=6))
        assert reader.to_arrow().num_rows == 7


@pytest.mark.parametrize("name", ["us.faa.airports", "com.yahoo.stocks.monthly", "seattle-weather.fahrenheit"])
def test_a_dataset_of_a_repository_has_the_records_of_its_files(name: str) -> None:
    with DatasetReader.open(EXAMPLES, name) as reader:
        table = reader.to_arrow()
    files = [pq.read_table(path) for path in (Path(EXAMPLES) / name / "data").iterdir()]
    expected = without_views(pa.concat_tables(files)).sort_by("offset")
    assert table.cast(expected.schema.remove_metadata()).equals(expected)


def test_a_dataset_that_is_not_there_is_named() -> None:
    with pytest.raises(DatasetNotFound, match="nothing"):
        DatasetReader.open(EXAMPLES, "nothing")


OPERATIONS = st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from("abc"), st.integers(0, 2))
SLICES = st.lists(st.lists(OPERATIONS, min_size=1, max_size=6), max_size=4)


@pytest.mark.slow
@given(SLICES, st.booleans(), st.integers(1, 6), st.integers(1, 4))
def test_any_past_reads_as_the_projection_of_what_was_known(
    tmp_path_factory: pytest.TempPathFactory, slices: list[Any], keyed: bool, as_at: int, as_of: int
) -> None:
    past = dict(enumerate(slices, 2))
    events = [source()] if keyed else []
    with reader_of(tmp_path_factory.mktemp("past"), *events, past=past) as reader:
        changelog = reader.to_arrow(as_at=str(day(as_at)))
        expected = project(changelog, ("city",) if keyed else None) if changelog.num_rows else changelog
        assert changelog.num_rows == sum(len(rows) for on, rows in past.items() if on <= as_at)
        assert reader.to_arrow(as_at=str(day(as_at)), state=True).equals(expected)
        happened = expected.filter(happened_by(expected, day(as_of)))
        assert reader.to_arrow(as_at=str(day(as_at)), as_of=str(day(as_of))).equals(happened)


async def test_a_past_needs_no_records() -> None:
    with DatasetReader(await new_dataset(source())) as reader:
        assert reader.to_arrow(state=True).num_rows == 0
