"""What is staged is verified, then promoted or turned away; several datasets only together."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.gates import Gate
from catalog.sqlite_files import sqlite_url
from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import RefNotFound
from opendatafabric.multihash import Multihash
from pipeline.transform.input_chains import inputs_in
from storage.repository import DatasetEntry, Repository
from tests.pipeline.datasets import blocks_of
from tests.pipeline.local_engine import LocalEngine
from tests.source_tree import ROOT
from verify.attestation.signing import Attester
from verify.promote_job import PromoteJob
from verify.replay import Replay
from verify.report_room import ReportRoom

WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@dataclass
class Place:
    """The weather and what is derived of it, each with its last two blocks staged."""

    repository: Repository
    catalog: Catalog
    job: PromoteJob

    async def entry(self, name: str) -> DatasetEntry:
        return await self.repository.find(DatasetAlias.from_text(name))

    async def run(self, name: str) -> dict[str, Any]:
        return await self.job.run((await self.entry(name)).id)

    async def refs(self, name: str) -> tuple[Multihash | None, Multihash | None]:
        dataset = (await self.entry(name)).dataset
        return await dataset.head(), await dataset.head(STAGING)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    repository = Repository.init(tmp_path / "r")
    for name in (WEATHER, FAHRENHEIT):
        shutil.copytree(ROOT / "examples" / "datasets" / name, tmp_path / "r" / name)
        await stage_last(repository, name, 2)
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        attester = Attester(tmp_path / "key", catalog.attestation_keys, catalog.attestations)
        replay = Replay(inputs_in(repository), LocalEngine(tmp_path / "engine"))
        room = ReportRoom(catalog.reports, 10, attester)
        yield Place(repository, catalog, PromoteJob(repository, catalog.gates, room, lambda _: replay))


async def stage_last(repository: Repository, name: str, count: int) -> None:
    dataset = (await repository.find(DatasetAlias.from_text(name))).dataset
    head = await dataset.head()
    before = (await blocks_of(dataset))[-1 - count].hash
    await dataset.refs.compare_and_swap(STAGING, expected=None, new=head)
    await dataset.refs.compare_and_swap(HEAD, expected=head, new=before)


async def test_what_is_sound_becomes_the_head_and_is_attested(place: Place) -> None:
    _, staged = await place.refs(WEATHER)
    told = await place.run(WEATHER)
    assert (told["result"], told["verdict"], told["finding"]) == ("promoted", "valid", None)
    assert await place.refs(WEATHER) == (staged, None)
    entry = await place.entry(WEATHER)
    (attested,) = await place.catalog.attestations.list(entry.id)
    assert attested.head == staged


async def test_what_is_damaged_is_turned_away_and_says_nothing_of_the_head(place: Place) -> None:
    entry = await place.entry(WEATHER)
    head, staged = await place.refs(WEATHER)
    assert staged is not None
    event = (await entry.dataset.read_block(staged)).event
    slice_file = entry.folder / "data" / str(event.new_data.physical_hash)  # type: ignore[union-attr]
    slice_file.write_bytes(b"damaged")
    told = await place.run(WEATHER)
    assert (told["result"], told["verdict"]) == ("rejected", "invalid")
    assert "object" in told["finding"]
    assert await place.refs(WEATHER) == (head, None)
    assert await place.catalog.reports.of(entry.id) == []


async def test_with_replay_a_derivative_is_computed_again(place: Place) -> None:
    entry = await place.entry(FAHRENHEIT)
    await place.catalog.gates.set(entry.id, Gate(replay=True))
    told = await place.run(FAHRENHEIT)
    assert (told["result"], told["finding"][:31]) == ("held", "unchecked [replay-input-missing")
    await place.run(WEATHER)
    told = await place.run(FAHRENHEIT)
    assert (told["result"], told["steps"] > 0) == ("promoted", True)


async def test_without_replay_integrity_is_enough(place: Place) -> None:
    told = await place.run(FAHRENHEIT)
    assert (told["result"], told["steps"]) == ("promoted", 0)


async def test_what_does_not_continue_the_head_is_turned_away(place: Place) -> None:
    dataset = (await place.entry(WEATHER)).dataset
    head, staged = await place.refs(WEATHER)
    before = (await blocks_of(dataset))[-2].hash
    await dataset.refs.compare_and_swap(STAGING, expected=staged, new=before)
    told = await place.run(WEATHER)
    assert (told["result"], await place.refs(WEATHER)) == ("rejected", (head, None))
    assert "does not continue the head" in told["finding"]


async def test_when_nothing_is_staged_nothing_is_done(place: Place) -> None:
    await place.run(WEATHER)
    assert await place.run(WEATHER) == {"result": "nothing-staged"}


async def test_an_input_and_what_is_derived_of_it_are_promoted_in_one_step(place: Place) -> None:
    names = (WEATHER, FAHRENHEIT)
    staged = [(await place.refs(name))[1] for name in names]
    ids = [(await place.entry(name)).id for name in names]
    results = await place.job.together(ids)
    assert [told["result"] for _, told in results] == ["promoted", "promoted"]
    assert [await place.refs(name) for name in names] == [(each, None) for each in staged]


async def test_when_one_of_them_is_damaged_none_is_promoted(place: Place) -> None:
    names = (WEATHER, FAHRENHEIT)
    before = [await place.refs(name) for name in names]
    entry = await place.entry(FAHRENHEIT)
    max((entry.folder / "data").iterdir(), key=lambda path: path.stat().st_size).write_bytes(b"damaged")
    ids = [(await place.entry(name)).id for name in names]
    results = await place.job.together(ids)
    assert [told["result"] for _, told in results] == ["promoted", "rejected"]
    assert [await place.refs(name) for name in names] == before


async def test_together_needs_something_staged_in_each(place: Place) -> None:
    await place.run(WEATHER)
    with pytest.raises(RefNotFound):
        await place.job.together([(await place.entry(name)).id for name in (WEATHER, FAHRENHEIT)])
