"""Requests of a coordinator, done by our engine: files in, a slice and a checkpoint out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.errors import (
    AccessDenied,
    Conflict,
    IncompatibleSchema,
    InvalidQuery,
    MalformedData,
    MalformedInput,
    NotFound,
    OdfError,
    UnsupportedOperation,
)
from opendatafabric.metadata.engine_messages import RawQueryResponseSuccess, TransformResponseSuccess
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.engine_contract.checkpoint import read_checkpoint
from pipeline.engine_contract.served import ServedEngine
from tests.pipeline.datasets import day
from tests.pipeline.engine_contract.coordinator import Coordinator, id_of, query

LARGE = "select event_time, city from cities where population > 10"


async def test_a_step_gives_a_slice_its_offsets_and_the_watermark(
    engine: ServedEngine, coordinator: Coordinator
) -> None:
    files = coordinator.cities(lviv=5, kyiv=30), coordinator.cities(2, odesa=20)
    given = coordinator.input(*files, offsets=(0, 2), marks=(day(1), day(2)))
    answer = await engine.transform(coordinator.step(query(LARGE), given, next_offset=7))
    assert answer == TransformResponseSuccess(OffsetInterval(7, 8), day(2))
    rows = coordinator.rows("offset", "op", "system_time", "city")
    assert [row["city"] for row in rows] == ["kyiv", "odesa"]
    assert (rows[0]["offset"], rows[0]["op"], rows[0]["system_time"]) == (7, 0, day(3).to_datetime())


async def test_only_records_of_the_interval_are_seen_and_none_without_one(
    engine: ServedEngine, coordinator: Coordinator
) -> None:
    file = coordinator.cities(lviv=50, kyiv=30, odesa=20)
    both = "select event_time, city from cities union all select event_time, city from towns"
    inputs = coordinator.input(file, offsets=(1, 1)), coordinator.input(file, name="towns")
    assert (await engine.transform(coordinator.step(query(both), *inputs))).new_offset_interval == OffsetInterval(0, 0)
    assert coordinator.rows("city") == [{"city": "kyiv"}]


async def test_steps_are_tables_for_those_after_them(engine: ServedEngine, coordinator: Coordinator) -> None:
    given = coordinator.input(coordinator.cities(lviv=5, kyiv=30), offsets=(0, 1))
    await engine.transform(coordinator.step(query(LARGE, "select event_time, upper(city) c from step0"), given))
    assert coordinator.rows("c") == [{"c": "KYIV"}]


async def test_a_step_without_rows_gives_no_slice_but_the_watermark(
    engine: ServedEngine, coordinator: Coordinator
) -> None:
    given = coordinator.input(coordinator.cities(lviv=5), offsets=(0, 0), marks=(day(2),))
    assert await engine.transform(coordinator.step(query(LARGE), given)) == TransformResponseSuccess(None, day(2))
    assert coordinator.made == {"new-checkpoint"}


async def test_a_watermark_of_an_input_is_carried_by_the_checkpoint(
    engine: ServedEngine, coordinator: Coordinator
) -> None:
    file = coordinator.cities(kyiv=30)
    first = coordinator.step(query(LARGE), coordinator.input(file, marks=(day(4),)), name="old")
    await engine.transform(first)
    inputs = coordinator.input(file, offsets=(0, 0)), coordinator.input(file, name="towns", marks=(day(9),))
    answer = await engine.transform(coordinator.step(query(LARGE), *inputs, before=first.new_checkpoint_path))
    assert answer.new_watermark == day(4)
    remembered = read_checkpoint((coordinator.folder / "new-checkpoint").read_bytes())
    assert remembered == {id_of("cities"): day(4), id_of("towns"): day(9)}


async def test_a_step_that_changes_nothing_leaves_the_checkpoint_as_it_was(
    engine: ServedEngine, coordinator: Coordinator
) -> None:
    given = coordinator.input(marks=(day(4),))
    await engine.transform(coordinator.step(query(LARGE), given, name="old"))
    again = coordinator.step(query(LARGE), coordinator.input(), before=str(coordinator.folder / "old-checkpoint"))
    assert await engine.transform(again) == TransformResponseSuccess(None, day(4))
    assert coordinator.made == {"new-checkpoint"}
    old, new = ((coordinator.folder / f"{name}-checkpoint").read_bytes() for name in ("old", "new"))
    assert old == new


async def test_the_same_request_gives_the_same_bytes(engine: ServedEngine, coordinator: Coordinator) -> None:
    given = coordinator.input(coordinator.cities(kyiv=30), offsets=(0, 0), marks=(day(2),))
    for name in ("new", "old"):
        await engine.transform(coordinator.step(query(LARGE), given, name=name))
    for kind in ("data", "checkpoint"):
        new, old = ((coordinator.folder / f"{name}-{kind}").read_bytes() for name in ("new", "old"))
        assert new == old


async def test_a_raw_query_goes_over_all_files_in_their_order(engine: ServedEngine, coordinator: Coordinator) -> None:
    files = coordinator.cities(5, odesa=20), coordinator.cities(lviv=5, kyiv=30)
    request = coordinator.raw(query("select city, population + 1 as p from input where population > 4"), *files)
    assert await engine.raw_query(request) == RawQueryResponseSuccess(3)
    assert [row["city"] for row in coordinator.rows("city", "p")] == ["odesa", "lviv", "kyiv"]


async def test_a_raw_query_without_rows_makes_no_file(engine: ServedEngine, coordinator: Coordinator) -> None:
    request = coordinator.raw(query("select city from input where false"), coordinator.cities(lviv=5))
    assert await engine.raw_query(request) == RawQueryResponseSuccess(0)
    assert coordinator.made == set()


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("select nothing from cities", InvalidQuery),
        ("selec", InvalidQuery),
        ("drop table cities", InvalidQuery),
        ("select city from cities", IncompatibleSchema),
        ("select event_time, 1 as offset from cities", IncompatibleSchema),
        ("select event_time, 77 as op from cities", MalformedData),
    ],
)
async def test_a_query_that_does_not_hold_makes_nothing(
    engine: ServedEngine, coordinator: Coordinator, text: str, family: type[OdfError]
) -> None:
    given = coordinator.input(coordinator.cities(kyiv=30), offsets=(0, 0), marks=(day(2),))
    with pytest.raises(family):
        await engine.transform(coordinator.step(query(text), given))
    assert coordinator.made == set()


async def test_an_engine_that_is_not_there_is_told(engine: ServedEngine, coordinator: Coordinator) -> None:
    with pytest.raises(UnsupportedOperation, match="flink"):
        await engine.transform(coordinator.step(query(LARGE, engine="flink"), coordinator.input()))


async def test_new_records_without_files_are_no_request(engine: ServedEngine, coordinator: Coordinator) -> None:
    with pytest.raises(MalformedInput, match="'cities'"):
        await engine.transform(coordinator.step(query(LARGE), coordinator.input(offsets=(0, 0))))


async def test_a_raw_query_without_files_is_no_request(engine: ServedEngine, coordinator: Coordinator) -> None:
    with pytest.raises(MalformedInput, match="no input files"):
        await engine.raw_query(coordinator.raw(query("select 1")))


@pytest.mark.parametrize("path", ["/etc/passwd", "../engine/secret", "link", "nul\0"])
async def test_a_file_outside_of_the_folder_is_refused(
    engine: ServedEngine, coordinator: Coordinator, path: str
) -> None:
    (coordinator.folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(AccessDenied):
        await engine.raw_query(coordinator.raw(query("select 1"), str(coordinator.folder / path)))


async def test_nothing_is_written_outside_of_the_folder_or_over_what_is_there(
    engine: ServedEngine, coordinator: Coordinator, tmp_path: Path
) -> None:
    file = coordinator.cities(kyiv=30)
    (coordinator.folder / "new-data").write_text("mine")
    with pytest.raises(Conflict):
        await engine.raw_query(coordinator.raw(query("select 1"), file))
    engine = ServedEngine(engine.engine, coordinator.folder / "inner")
    with pytest.raises(AccessDenied):
        await engine.raw_query(coordinator.raw(query("select 1"), file))


async def test_a_file_that_is_not_there_is_named(engine: ServedEngine, coordinator: Coordinator) -> None:
    with pytest.raises(NotFound, match="missing"):
        await engine.raw_query(coordinator.raw(query("select 1"), str(coordinator.folder / "missing")))


async def test_a_file_that_is_no_parquet_is_told(engine: ServedEngine, coordinator: Coordinator) -> None:
    (coordinator.folder / "text").write_text("no parquet")
    text = str(coordinator.folder / "text")
    with pytest.raises(MalformedData, match="input file"):
        await engine.raw_query(coordinator.raw(query("select 1"), text))
    with pytest.raises(MalformedData, match="schema"):
        await engine.transform(coordinator.step(query(LARGE), coordinator.input(text)))


async def test_a_column_without_a_type_of_ours_is_told(engine: ServedEngine, coordinator: Coordinator) -> None:
    path = coordinator.folder / "odd"
    pq.write_table(pa.table({"a": pa.array(["x"]).dictionary_encode()}), path)
    with pytest.raises(MalformedData):
        await engine.transform(coordinator.step(query(LARGE), coordinator.input(str(path))))
