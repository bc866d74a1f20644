"""From SQL to a request: which datasets are opened, at which moment, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import BlockNotFound, DatasetNotFound, HashMismatch, InvalidQuery, LimitExceeded
from opendatafabric.limits import QUERY_CHARS_MAX
from opendatafabric.multihash import physical_hash
from pipeline.query.prepare import Asked, prepare_query
from pipeline.query.request import QueryRequest, request_from_json
from storage.records.state import Wanted
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.query.catalogue import prepared, two_datasets


async def test_only_datasets_that_the_query_reads_are_tables(tmp_path: Path) -> None:
    request = await prepared("SELECT * FROM cities", tmp_path)
    assert [table.name for table in request.tables] == ["cities"]
    assert [len(table.files()) for table in request.tables] == [3]


async def test_slices_are_placed_in_the_order_of_the_chain_and_local_ones_are_not_copied(tmp_path: Path) -> None:
    request = await prepared("SELECT * FROM cities", tmp_path)
    files = request.tables[0].files()
    assert all(file.is_symlink() for file in files)
    assert [file.name for file in files] == sorted(file.name for file in files)


async def test_distant_slices_are_copied(tmp_path: Path) -> None:
    request = await prepared('SELECT * FROM "alice/regions"', tmp_path)
    assert not any(file.is_symlink() for file in request.tables[0].files())


async def test_a_table_is_read_at_the_moment_that_is_asked_for(tmp_path: Path) -> None:
    request = await prepared("SELECT * FROM cities", tmp_path, Asked(as_at=day(3)))
    assert request.tables[0].known.count == 5


async def test_a_block_holds_for_the_dataset_that_has_it(tmp_path: Path) -> None:
    catalogue = await two_datasets(tmp_path)
    block = (await blocks_of(await catalogue("cities")))[3].hash
    request = await prepare_query('SELECT 1 FROM cities, "alice/regions"', catalogue, tmp_path, Asked((block,)))
    assert [table.known.count for table in request.tables] == [2, 2]
    assert [len(table.files()) for table in request.tables] == [1, 1]


async def test_a_block_that_none_has_is_named(tmp_path: Path) -> None:
    block = physical_hash(b"another")
    with pytest.raises(BlockNotFound, match=str(block)):
        await prepared("SELECT * FROM cities", tmp_path, Asked((block,)))


async def test_a_dataset_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFound, match=r"'towns', which is no dataset \(line 2, column 6\)") as caught:
        await prepared("SELECT *\nFROM towns", tmp_path)
    assert caught.value.hint == "cities and alice/regions"


async def test_a_damaged_slice_is_found_before_the_query_runs(tmp_path: Path) -> None:
    catalogue = await two_datasets(tmp_path)
    next((tmp_path / "store" / "data").iterdir()).write_bytes(b"damaged")
    with pytest.raises(HashMismatch):
        await prepare_query("SELECT 1 FROM cities", catalogue, tmp_path, Asked())


async def test_a_query_that_is_too_long_is_refused(tmp_path: Path) -> None:
    catalogue = await two_datasets(tmp_path)
    await prepare_query("SELECT 1".ljust(QUERY_CHARS_MAX), catalogue, tmp_path, Asked())
    with pytest.raises(LimitExceeded, match="too long"):
        await prepare_query("SELECT 1".ljust(QUERY_CHARS_MAX + 1), catalogue, tmp_path, Asked())


async def test_a_name_in_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidQuery, match="several parts"):
        await prepared("SELECT * FROM alice.regions", tmp_path)


async def test_a_request_comes_back_from_its_text(tmp_path: Path) -> None:
    asked = Asked(wanted=Wanted(as_of=day(2)))
    request = await prepared("SELECT 1 FROM cities, to_table('alice/regions')", tmp_path, asked, rows=7)
    again = request_from_json(request.to_json())
    assert (again.sql, again.limits) == (request.sql, request.limits)
    assert [(each.name, each.state, each.function, each.as_of) for each in again.tables] == [
        ("cities", True, False, day(2)),
        ("alice/regions", False, True, day(2)),
    ]
    assert [(each.known.schema, each.known.primary_key, each.files()) for each in again.tables] == [
        (each.known.schema, each.known.primary_key, each.files()) for each in request.tables
    ]
    assert QueryRequest("SELECT 1", ()).to_json()
