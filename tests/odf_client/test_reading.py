"""Records are read by columns, offsets, times and moments, as they are or projected; streamed, and from any loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odf_client
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.projection import happened_by, project
from opendatafabric.errors import HashMismatch, MalformedInput, NotFound, ObjectNotFound, UnsupportedOperation
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from tests.pipeline.datasets import day
from tests.pipeline.reading.histories import source, with_past
from tests.source_tree import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = ROOT / "examples" / "datasets"


def stored(folder: Path, *events: Any, **options: Any) -> tuple[odf_client.Dataset, Dataset]:
    """A dataset with a past, as it is opened, and as it is written to."""
    place = folder / "store"
    place.mkdir()
    objects, refs = LocalObjectStore(place), LocalRefStore(place)
    dataset = asyncio.run(with_past(folder, *events, objects=objects, refs=refs, **options))
    return odf_client.open(place), dataset


@pytest.fixture
def reader(tmp_path: Path) -> odf_client.Dataset:
    return stored(tmp_path, source())[0]


def slices_of(folder: Path) -> list[Path]:
    return list((folder / "store" / "data").glob("f1620*"))


def cities(table: pa.Table) -> dict[str, int]:
    return dict(zip(table["city"].to_pylist(), table["population"].to_pylist(), strict=True))


def test_everything_is_read_in_the_order_of_offsets(reader: odf_client.Dataset) -> None:
    table = reader.to_arrow()
    assert table["offset"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert table["op"].to_pylist() == [0, 0, 2, 3, 0, 1]


def test_only_the_columns_that_are_named_are_read_in_that_order(reader: odf_client.Dataset) -> None:
    assert reader.to_arrow(["population", "city"]).column_names == ["population", "city"]


def test_a_column_that_is_not_there_is_named(reader: odf_client.Dataset) -> None:
    with pytest.raises(NotFound, match="'country'"):
        reader.to_arrow(["country"])


def test_offsets_are_both_inclusive(reader: odf_client.Dataset) -> None:
    assert reader.to_arrow(["offset"], offsets=(1, 3))["offset"].to_pylist() == [1, 2, 3]
    assert reader.to_arrow(["offset"], offsets=(7, 9)).num_rows == 0


def test_the_state_has_retractions_and_corrections_carried_out(reader: odf_client.Dataset) -> None:
    assert cities(reader.to_arrow(projected=True)) == {"kyiv": 4, "odesa": 5}


@pytest.mark.parametrize(
    ("as_at", "known"),
    [(1, {}), (2, {"kyiv": 3, "lviv": 2}), (4, {"kyiv": 4, "lviv": 2, "odesa": 5}), (5, {"kyiv": 4, "odesa": 5})],
)
def test_as_at_is_what_was_known_then(reader: odf_client.Dataset, as_at: int, known: dict[str, int]) -> None:
    table = reader.to_arrow(as_at=str(day(as_at)), projected=True)
    assert (cities(table) if known else table.to_pylist()) == (known or [])


def test_as_of_is_what_had_happened_by_then_with_all_that_is_known_now(reader: odf_client.Dataset) -> None:
    assert cities(reader.to_arrow(as_of=str(day(2)))) == {}
    assert cities(reader.to_arrow(as_of=str(day(3)))) == {"kyiv": 4, "odesa": 5}


def test_both_times_cut_both_ways(reader: odf_client.Dataset) -> None:
    assert cities(reader.to_arrow(as_at=str(day(2)), as_of=str(day(1)))) == {"kyiv": 3, "lviv": 2}
    assert cities(reader.to_arrow(as_at=str(day(4)), as_of=str(day(2)))) == {"lviv": 2}


@pytest.mark.parametrize("options", [{"as_at": "yesterday"}, {"as_of": "2024"}, {"at_block": "f16"}])
def test_times_and_hashes_that_are_none_are_refused(reader: odf_client.Dataset, options: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput):
        reader.to_arrow(**options)


def test_it_works_where_a_loop_runs_already(reader: odf_client.Dataset) -> None:
    async def in_a_notebook() -> int:
        return reader.to_arrow().num_rows

    assert asyncio.run(in_a_notebook()) == 6


def test_without_a_key_the_state_is_found_by_values(tmp_path: Path) -> None:
    reader, _ = stored(tmp_path)
    assert cities(reader.to_arrow(projected=True)) == {"kyiv": 4, "odesa": 5}
    assert cities(reader.to_arrow(as_at=str(day(4)), as_of=str(day(2)))) == {"lviv": 2}


def test_a_chain_is_read_up_to_a_block(reader: odf_client.Dataset) -> None:
    (third,) = [block.hash for block in reader.blocks() if block.sequence_number == 3]
    assert reader.to_arrow(at_block=third).num_rows == 2
    assert reader.to_arrow(["offset"], since_block=third)["offset"].to_pylist() == [2, 3, 4, 5]
    assert reader.to_arrow(["offset"], since_block=third, offsets=(0, 3))["offset"].to_pylist() == [2, 3]
    assert reader.to_arrow(since_block=third, offsets=(0, 1)).num_rows == 0


def test_nothing_comes_after_the_head(reader: odf_client.Dataset) -> None:
    assert reader.to_arrow(since_block=reader.head).num_rows == 0


@pytest.mark.parametrize(
    ("times", "offsets"), [((1, 1), [0, 1, 2, 5]), ((2, None), [3, 4]), ((None, 1), [0, 1, 2, 5]), ((4, 9), [])]
)
def test_event_times_are_both_inclusive(
    reader: odf_client.Dataset, times: tuple[int | None, int | None], offsets: list[int]
) -> None:
    first, last = (None if number is None else day(number).to_datetime() for number in times)
    assert reader.to_arrow(["offset"], event_time=(first, last))["offset"].to_pylist() == offsets
    assert reader.to_arrow(event_time=(first, last)).num_rows == len(offsets)


def test_event_times_go_with_the_state(reader: odf_client.Dataset) -> None:
    since = day(1).to_datetime() + timedelta(hours=1)
    assert cities(reader.to_arrow(event_time=(since, None), projected=True)) == {"kyiv": 4, "odesa": 5}


def test_slices_are_read_only_when_they_are_reached(reader: odf_client.Dataset, tmp_path: Path) -> None:
    batches = reader.scan(["offset"])
    for path in slices_of(tmp_path):
        path.write_bytes(b"damaged")
    assert batches.schema.names == ["offset"]
    with pytest.raises(HashMismatch, match="damaged"):
        batches.read_next_batch()


def test_a_slice_that_is_gone_is_named(reader: odf_client.Dataset, tmp_path: Path) -> None:
    for path in slices_of(tmp_path):
        path.unlink()
    with pytest.raises(ObjectNotFound):
        reader.to_arrow()


def test_a_reading_may_be_given_up(reader: odf_client.Dataset) -> None:
    for batch in reader.scan():
        assert batch.num_rows == 2
        break
    assert reader.to_arrow().num_rows == 6


def test_the_newest_records_are_the_tail(reader: odf_client.Dataset) -> None:
    assert reader.tail(2)["offset"].to_pylist() == [4, 5]
    assert reader.tail(100).num_rows == 6


def test_the_chain_says_what_the_dataset_is(reader: odf_client.Dataset) -> None:
    blocks = list(reader.blocks())
    assert [block.sequence_number for block in blocks] == list(range(len(blocks)))[::-1]
    assert (blocks[0].hash, blocks[-1].event["kind"]) == (reader.head, "Seed")
    assert reader.metadata["AddPushSource"]["sourceName"] == "default"
    assert reader.metadata["Seed"]["datasetId"] == reader.id
    assert reader.schema.names == ["offset", "op", "system_time", "event_time", "city", "population"]
    assert reader.count == 6


def test_other_programs_read_the_files(reader: odf_client.Dataset) -> None:
    assert [pq.read_table(path).num_rows for path in reader.files()] == [2, 3, 1]
    assert reader.arrow_dataset().to_table(filter=pc.field("population") > 3).num_rows == 2


def test_a_data_frame_has_the_state(reader: odf_client.Dataset) -> None:
    frame = reader.to_pandas(["city"], projected=True)
    assert list(frame["city"]) == ["kyiv", "odesa"]


def test_duckdb_asks_the_files_or_what_was_chosen(reader: odf_client.Dataset) -> None:
    duckdb = pytest.importorskip("duckdb")
    assert reader.duckdb(duckdb.connect()).aggregate("sum(population)").fetchall() == [(19,)]
    assert reader.duckdb(projected=True).aggregate("sum(population)").fetchall() == [(9,)]


def test_progress_is_told_to_a_function_or_shown_in_bars(
    reader: odf_client.Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reader.to_arrow(progress=lambda *_: None).num_rows == 6
    assert reader.to_arrow(progress=True).num_rows == 6
    assert "Error" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "extra", "asked"),
    [
        ("tqdm.auto", "notebook", lambda reader: reader.to_arrow(progress=True)),
        ("pandas", "pandas", lambda reader: reader.to_pandas()),
        ("duckdb", "duckdb", lambda reader: reader.duckdb()),
    ],
)
def test_who_lacks_a_package_is_told_what_to_install(
    reader: odf_client.Dataset,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    extra: str,
    asked: Callable[[odf_client.Dataset], object],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnsupportedOperation) as refused:
        asked(reader)
    assert refused.value.hint == f"pip install 'odf-client[{extra}]'"


@pytest.mark.parametrize("name", ["us.faa.airports", "com.yahoo.stocks.monthly", "seattle-weather.fahrenheit"])
def test_a_dataset_has_the_records_of_its_files(name: str) -> None:
    table = odf_client.open(EXAMPLES / name).to_arrow()
    files = [pq.read_table(path) for path in (EXAMPLES / name / "data").iterdir()]
    expected = without_views(pa.concat_tables(files)).sort_by("offset")
    assert table.cast(expected.schema.remove_metadata()).equals(expected)


OPERATIONS = st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from("abc"), st.integers(0, 2))
SLICES = st.lists(st.lists(OPERATIONS, min_size=1, max_size=6), max_size=4)


@pytest.mark.slow
@given(SLICES, st.booleans(), st.integers(1, 6), st.integers(1, 4))
def test_any_past_reads_as_the_projection_of_what_was_known(
    tmp_path_factory: pytest.TempPathFactory, slices: list[Any], keyed: bool, as_at: int, as_of: int
) -> None:
    past = dict(enumerate(slices, 2))
    events = [source()] if keyed else []
    reader, _ = stored(tmp_path_factory.mktemp("past"), *events, past=past)
    changelog = reader.to_arrow(as_at=str(day(as_at)))
    expected = project(changelog, ("city",) if keyed else None) if changelog.num_rows else changelog
    assert changelog.num_rows == sum(len(rows) for on, rows in past.items() if on <= as_at)
    assert reader.to_arrow(as_at=str(day(as_at)), projected=True).equals(expected)
    happened = expected.filter(happened_by(expected, day(as_of)))
    assert reader.to_arrow(as_at=str(day(as_at)), as_of=str(day(as_of))).equals(happened)


def test_a_past_needs_no_records(tmp_path: Path) -> None:
    reader, _ = stored(tmp_path, source(), past={})
    assert reader.to_arrow(projected=True).num_rows == 0
    assert reader.tail().num_rows == 0


def test_spark_reads_the_files_or_what_was_chosen(reader: odf_client.Dataset, spark: SparkSession) -> None:
    assert reader.spark(spark).agg({"population": "sum"}).collect()[0][0] == 19
    cities_now = reader.spark(spark, projected=True).select("city").orderBy("city").collect()
    assert [row.city for row in cities_now] == ["kyiv", "odesa"]
