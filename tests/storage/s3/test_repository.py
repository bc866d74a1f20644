"""A repository in S3: datasets are found, made, renamed and deleted, and several processes do so at once."""

from __future__ import annotations

import asyncio
import time

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import (
    Conflict,
    DatasetNotFound,
    NameCollision,
    NotARepository,
    OdfError,
    RefCollision,
)
from storage.open import init_repository, open_repository
from storage.s3.location import S3Location
from storage.s3.repository import S3Repository
from tests.storage.chains import chain, dataset_id
from tests.storage.s3.test_objects import client_of, names_in

WEATHER, OTHER = DatasetAlias.from_text("alice/weather"), DatasetAlias.from_text("alice/other")


@pytest.fixture
async def repository(location: S3Location) -> S3Repository:
    return await S3Repository.init(location)


async def add(repository: S3Repository, alias: DatasetAlias, number: int = 1) -> None:
    entry = await repository.create(alias, dataset_id(number))
    await entry.dataset.append(chain(["a"], number=number).blocks, expected_head=None)


async def names(repository: S3Repository, *, include_pending: bool = False) -> list[str]:
    return [str(entry.alias) async for entry in repository.iterate(include_pending=include_pending)]


async def test_a_repository_is_made_once_and_opened_by_its_address(location: S3Location) -> None:
    with pytest.raises(NotARepository) as refused:
        await open_repository(str(location))
    assert refused.value.hint == f"make one with: odf init {location}"
    await init_repository(str(location))
    await init_repository(str(location))
    assert isinstance(await open_repository(str(location)), S3Repository)


async def test_a_dataset_is_found_by_id_and_by_alias_in_any_case(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    by_alias = await repository.find(DatasetAlias.from_text("Alice/WEATHER"))
    by_id = await repository.find(dataset_id(1))
    assert (by_alias.id, by_id.alias, by_id.pending) == (dataset_id(1), WEATHER, False)
    assert await by_id.dataset.head() == chain(["a"], number=1).head


async def test_it_lies_where_servers_of_the_reference_look(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    place = repository.location.below(dataset_id(1).multibase)
    assert {"refs/head", "info/alias"} < names_in(place)


async def test_a_dataset_without_head_is_seen_by_its_creator_alone(repository: S3Repository) -> None:
    await repository.create(WEATHER, dataset_id(1))
    await repository.create(WEATHER, dataset_id(1))
    with pytest.raises(DatasetNotFound):
        await repository.find(WEATHER)
    assert (await repository.find(WEATHER, include_pending=True)).pending
    assert (await names(repository), await names(repository, include_pending=True)) == ([], ["alice/weather"])


async def test_an_id_and_a_name_are_given_once(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    with pytest.raises(RefCollision):
        await repository.create(OTHER, dataset_id(1))
    with pytest.raises(NameCollision):
        await repository.create(DatasetAlias.from_text("alice/Weather"), dataset_id(2))
    assert await names(repository) == ["alice/weather"]
    await add(repository, OTHER, 2)
    assert await names(repository) == ["alice/other", "alice/weather"]


async def test_of_many_who_want_a_name_one_gets_it(location: S3Location, repository: S3Repository) -> None:
    processes = [S3Repository(location) for _ in range(6)]
    made = await asyncio.gather(
        *(each.create(WEATHER, dataset_id(number)) for number, each in enumerate(processes)), return_exceptions=True
    )
    winners = [each for each in made if not isinstance(each, BaseException)]
    assert len(winners) == 1
    assert all(isinstance(each, NameCollision) for each in made if isinstance(each, BaseException))
    assert (await repository.find(WEATHER, include_pending=True)).id == winners[0].id


async def test_a_dataset_is_renamed_and_its_old_name_is_free(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    assert (await repository.rename(WEATHER, OTHER)).id == dataset_id(1)
    with pytest.raises(DatasetNotFound):
        await repository.find(WEATHER)
    await add(repository, WEATHER, 2)
    with pytest.raises(NameCollision):
        await repository.rename(WEATHER, OTHER)
    assert await names(repository) == ["alice/other", "alice/weather"]


async def test_a_deleted_dataset_is_gone_with_everything_and_can_come_again(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    dataset = (await repository.find(WEATHER)).dataset
    await repository.delete(WEATHER)
    assert await dataset.head() is None
    assert await names(repository, include_pending=True) == []
    assert {name for name in names_in(repository.location) if "/blocks/" in name} == set()
    with pytest.raises(DatasetNotFound):
        await repository.delete(WEATHER)
    await add(repository, WEATHER)
    assert await names(repository) == ["alice/weather"]


async def test_of_two_who_delete_both_end_and_the_dataset_is_gone(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    ended = await asyncio.gather(*(repository.delete(WEATHER) for _ in range(2)), return_exceptions=True)
    assert all(each is None or isinstance(each, DatasetNotFound | Conflict) for each in ended)
    assert None in ended
    assert await names(repository, include_pending=True) == []


async def test_a_name_left_over_from_a_change_cut_short_can_be_taken(repository: S3Repository) -> None:
    stale = repository.location.path(".names/alice/weather")
    client_of(repository.location).put_object(
        Bucket=repository.location.bucket, Key=stale, Body=dataset_id(9).multibase.encode()
    )
    await add(repository, WEATHER)
    assert (await repository.find(WEATHER)).id == dataset_id(1)


async def test_datasets_of_another_program_are_found_once_listed(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    client_of(repository.location).delete_object(
        Bucket=repository.location.bucket, Key=repository.location.path(".names/alice/weather")
    )
    assert await names(repository) == ["alice/weather"]
    assert (await repository.find(WEATHER)).id == dataset_id(1)


async def test_sweeping_takes_what_nobody_finished_and_leaves_the_rest(repository: S3Repository) -> None:
    await add(repository, WEATHER)
    await repository.create(OTHER, dataset_id(2))
    assert await repository.sweep(unused_for_s=3_600) == []
    removed = await repository.sweep(unused_for_s=0, now=time.time() + 3_600)
    assert removed == [str(dataset_id(2))]
    assert await names(repository, include_pending=True) == ["alice/weather"]


async def test_a_deletion_cut_short_is_finished_by_sweeping(
    repository: S3Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(repository, WEATHER)

    async def cut(_: object) -> None:
        raise OdfError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(repository, "_remove", cut)
        with pytest.raises(OdfError):
            await repository.delete(WEATHER)
    assert await names(repository, include_pending=True) == []
    with pytest.raises(RefCollision, match="deleted"):
        await repository.create(WEATHER, dataset_id(1))
    await repository.sweep(unused_for_s=0, now=time.time() + 3_600)
    await add(repository, WEATHER)
    assert await names(repository) == ["alice/weather"]
