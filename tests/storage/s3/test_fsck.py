"""Damage in a bucket is found and explained as in a folder."""

from __future__ import annotations

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.repositories import DatasetRepository
from storage.s3.location import S3Location
from storage.s3.repository import S3Repository
from tests.storage.chains import dataset_id
from tests.storage.s3.test_objects import client_of
from tests.suites.collecting import published, replaced, store_all
from tests.suites.dataset import fill, objects_in
from tests.suites.object_store import pieces_of

ALIAS = DatasetAlias.from_text("alice/weather")


@pytest.fixture
async def repository(location: S3Location) -> S3Repository:
    return await S3Repository.init(location)


@pytest.fixture
async def dataset(repository: S3Repository) -> Dataset:
    entry = await repository.create(ALIAS, dataset_id())
    await fill(entry.dataset, published())
    return entry.dataset


@pytest.fixture
def place(repository: S3Repository) -> S3Location:
    """Where the dataset lies."""
    return repository.location.below(dataset_id().multibase)


def write(place: S3Location, key: str, data: bytes) -> None:
    client_of(place).put_object(Bucket=place.bucket, Key=place.path(key), Body=data)


async def found(target: DatasetRepository | Dataset) -> dict[str, str]:
    return {finding.key: finding.code async for finding in fsck(target)}


async def test_a_sound_repository_has_no_findings(repository: S3Repository, dataset: Dataset) -> None:
    assert await found(repository) == {}
    assert await found(dataset) == {}


async def test_damaged_and_missing_files_are_named_with_their_place(
    repository: S3Repository, dataset: Dataset, place: S3Location
) -> None:
    key = data_key(physical_hash(b"kept slice"))
    write(place, key, b"rotten hay")
    assert await found(repository) == {key: "damaged-object"}
    assert [finding.place async for finding in fsck(repository)] == [dataset_id().multibase]
    await objects_in(dataset).delete(key)
    assert await found(dataset) == {key: "missing-object"}
    lost = block_key(published().blocks[1].hash)
    write(place, lost, b"no block")
    assert (await found(dataset))[lost] == "damaged-block"


async def test_a_damaged_head_is_named_and_the_rest_is_checked(dataset: Dataset, place: S3Location) -> None:
    write(place, "refs/head", b"nowhere")
    assert await found(dataset) == {"refs/head": "damaged-ref"}


async def test_orphans_leftovers_and_foreign_objects_are_named(dataset: Dataset, place: S3Location) -> None:
    await store_all(dataset, replaced())
    quarantined = await objects_in(dataset).quarantine(pieces_of(b"half"), size_max=9)
    write(place, "data/README", b"?")
    write(place, "notes.txt", b"?")
    findings = await found(dataset)
    assert findings.pop(f".pending/{quarantined.token}") == "leftover"
    assert (findings.pop("data/README"), findings.pop("notes.txt")) == ("foreign-file", "foreign-file")
    assert set(findings.values()) == {"orphan"}
    assert data_key(physical_hash(b"replaced slice")) in findings


async def test_a_dataset_whose_name_is_damaged_is_told_and_checked(
    repository: S3Repository, dataset: Dataset, place: S3Location
) -> None:
    write(place, "info/alias", b"no name of a dataset")
    key = data_key(physical_hash(b"kept slice"))
    await objects_in(dataset).delete(key)
    folder = dataset_id().multibase
    assert await found(repository) == {f"{folder}/info/alias": "damaged-alias", key: "missing-object"}
    assert [(each.name, each.dataset_id) async for each in repository.places()] == [(folder, dataset_id())]


async def test_a_dataset_at_the_place_of_another_is_named(repository: S3Repository) -> None:
    entry = await repository.create(ALIAS, dataset_id(2))
    await fill(entry.dataset, published())
    assert await found(repository) == {dataset_id(2).multibase: "wrong-folder"}


async def test_what_was_deleted_is_no_place_any_more(repository: S3Repository, dataset: Dataset) -> None:
    await repository.delete(ALIAS)
    assert await found(repository) == {}
    assert [each async for each in repository.places()] == []
