"""A repository in S3: datasets are found, made, renamed and deleted, and several processes do so at once."""

from __future__ import annotations

import time

import pytest

import storage.s3.repository as repository_module
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import (
    DatasetNotFound,
    NotARepository,
    OdfError,
    RefCollision,
)
from storage.open import init_repository, open_repository
from storage.s3.location import S3Location
from storage.s3.repository import S3Repository
from tests.storage.chains import dataset_id
from tests.storage.s3.test_objects import client_of, names_in
from tests.suites.repository import RepositorySuite, add, listed

WEATHER, OTHER = DatasetAlias.from_text("alice/weather"), DatasetAlias.from_text("alice/other")


@pytest.fixture
async def repository(location: S3Location) -> S3Repository:
    return await S3Repository.init(location)


class TestBuckets(RepositorySuite):
    def opened_again(self, repository: S3Repository) -> S3Repository:
        return S3Repository(repository.location)


async def test_a_repository_is_made_once_and_opened_by_its_address(location: S3Location) -> None:
    with pytest.raises(NotARepository) as refused:
        await open_repository(str(location))
    assert refused.value.hint == f"make one with: odf init {location}"
    await init_repository(str(location))
    await init_repository(str(location))
    assert isinstance(await open_repository(str(location)), S3Repository)


async def test_it_lies_where_servers_of_the_reference_look(repository: S3Repository) -> None:
    await add(repository, "alice/weather", 1)
    place = repository.location.below(dataset_id(1).multibase)
    assert {"refs/head", "info/alias"} < names_in(place)


async def test_a_deleted_dataset_is_gone_with_everything_and_can_come_again(repository: S3Repository) -> None:
    await add(repository, "alice/weather", 1)
    dataset = (await repository.find(WEATHER)).dataset
    await repository.delete(WEATHER)
    assert await dataset.head() is None
    assert await listed(repository, include_pending=True) == []
    assert {name for name in names_in(repository.location) if "/blocks/" in name} == set()
    with pytest.raises(DatasetNotFound):
        await repository.delete(WEATHER)
    await add(repository, "alice/weather", 1)
    assert await listed(repository) == ["alice/weather"]


async def test_a_name_left_over_from_a_change_cut_short_can_be_taken(repository: S3Repository) -> None:
    stale = repository.location.path(".names/alice/weather")
    client_of(repository.location).put_object(
        Bucket=repository.location.bucket, Key=stale, Body=dataset_id(9).multibase.encode()
    )
    await add(repository, "alice/weather", 1)
    assert (await repository.find(WEATHER)).id == dataset_id(1)


async def test_datasets_of_another_program_are_found_once_listed(repository: S3Repository) -> None:
    await add(repository, "alice/weather", 1)
    client_of(repository.location).delete_object(
        Bucket=repository.location.bucket, Key=repository.location.path(".names/alice/weather")
    )
    assert await listed(repository) == ["alice/weather"]
    assert (await repository.find(WEATHER)).id == dataset_id(1)


async def test_sweeping_takes_what_nobody_finished_and_leaves_the_rest(repository: S3Repository) -> None:
    await add(repository, "alice/weather", 1)
    await repository.create(OTHER, dataset_id(2))
    assert await repository.sweep(unused_for_s=3_600) == []
    removed = await repository.sweep(unused_for_s=0, now=time.time() + 3_600)
    assert removed == [str(dataset_id(2))]
    assert await listed(repository, include_pending=True) == ["alice/weather"]


async def test_sweeping_leaves_a_dataset_whose_name_is_damaged(repository: S3Repository) -> None:
    await add(repository, "alice/weather", 1)
    place = repository.location.below(dataset_id(1).multibase)
    client_of(place).put_object(Bucket=place.bucket, Key=place.path("info/alias"), Body=b"no name of a dataset")
    before = names_in(place)
    assert await repository.sweep(unused_for_s=0, now=time.time() + 3_600) == []
    assert names_in(place) == before


async def test_a_deletion_cut_short_is_finished_by_sweeping(
    repository: S3Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(repository, "alice/weather", 1)

    async def cut(_: object) -> None:
        raise OdfError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(repository, "_remove", cut)
        with pytest.raises(OdfError):
            await repository.delete(WEATHER)
    assert await listed(repository, include_pending=True) == []
    with pytest.raises(RefCollision, match="deleted"):
        await repository.create(WEATHER, dataset_id(1))
    await repository.sweep(unused_for_s=0, now=time.time() + 3_600)
    await add(repository, "alice/weather", 1)
    assert await listed(repository) == ["alice/weather"]


@pytest.mark.parametrize("step", ["park_head", "_empty"])
async def test_retiring_cut_short_is_out_of_sight_and_brought_to_its_end(
    repository: S3Repository, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    head = await (await add(repository, "alice/weather", 1)).dataset.head()
    with monkeypatch.context() as patched:
        patched.setattr(repository_module if step == "park_head" else repository, step, _cut)
        with pytest.raises(OdfError):
            await repository.retire(WEATHER)
    assert await listed(repository, include_pending=True) == []
    await repository.retire(dataset_id(1))
    assert await (await repository.restore(dataset_id(1), OTHER)).dataset.head() == head
    await add(repository, "alice/weather", 2)


@pytest.mark.parametrize("step", ["bring_head_back", "forget_parked"])
async def test_restoring_cut_short_is_repeated_or_done(
    repository: S3Repository, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    head = await (await add(repository, "alice/weather", 1)).dataset.head()
    await repository.retire(WEATHER)
    with monkeypatch.context() as patched:
        patched.setattr(repository_module, step, _cut)
        with pytest.raises(OdfError):
            await repository.restore(dataset_id(1), OTHER)
    if await repository.retired():
        await repository.restore(dataset_id(1), OTHER)
    assert await (await repository.find(OTHER)).dataset.head() == head


async def _cut(*_: object) -> None:
    raise OdfError("killed")
