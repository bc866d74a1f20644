"""Folders of datasets: what is found, what is created, and what two processes may do at once."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import (
    DatasetNotFound,
    NameCollision,
    NotARepository,
    RefCollision,
    UnsupportedOperation,
)
from storage.folders import RepositoryLayout
from storage.repository import DatasetEntry, Repository
from tests.storage.chains import chain, dataset_id

VECTORS = Path(__file__).parent.parent / "vectors" / "datasets"


def alias(text: str) -> DatasetAlias:
    return DatasetAlias.from_text(text)


async def listed(repository: Repository, *, include_pending: bool = False) -> list[str]:
    return [str(entry.alias) async for entry in repository.iterate(include_pending=include_pending)]


async def add(repository: Repository, name: str, number: int) -> DatasetEntry:
    entry = await repository.create(alias(name), dataset_id(number))
    await entry.dataset.append(chain(["x"], number=number).blocks, expected_head=None)
    return await repository.find(dataset_id(number))


@pytest.fixture(params=[RepositoryLayout.BY_ID, RepositoryLayout.BY_ALIAS])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    return Repository.init(tmp_path / "repository", request.param)


async def test_a_new_repository_is_empty(repository: Repository) -> None:
    assert await listed(repository) == []
    assert await listed(Repository.open(repository.root)) == []


async def test_making_a_repository_twice_opens_it(repository: Repository) -> None:
    await add(repository, "foo", 1)
    assert await listed(Repository.init(repository.root)) == ["foo"]


async def test_a_dataset_is_found_by_id_and_by_name_in_any_case(repository: Repository) -> None:
    await add(repository, "alice/Foo.Bar", 1)
    for ref in (dataset_id(1), alias("alice/Foo.Bar"), alias("ALICE/foo.bar")):
        entry = await repository.find(ref)
        assert (entry.id, str(entry.alias), entry.pending) == (dataset_id(1), "alice/Foo.Bar", False)


@pytest.mark.parametrize("ref", [dataset_id(9), alias("nobody"), alias("alice/foo"), alias("bob/foo")], ids=str)
async def test_what_is_not_there_is_not_found(repository: Repository, ref: DatasetAlias) -> None:
    await add(repository, "foo", 1)
    with pytest.raises(DatasetNotFound):
        await repository.find(ref)


async def test_a_dataset_without_a_head_is_invisible(repository: Repository) -> None:
    entry = await repository.create(alias("foo"), dataset_id())
    assert entry.pending
    assert await listed(repository) == []
    for ref in (alias("foo"), dataset_id()):
        with pytest.raises(DatasetNotFound):
            await repository.find(ref)
        assert (await repository.find(ref, include_pending=True)).id == dataset_id()


async def test_its_head_makes_it_visible(repository: Repository) -> None:
    entry = await repository.create(alias("foo"), dataset_id())
    await entry.dataset.append(chain().blocks, expected_head=None)
    assert await listed(repository) == ["foo"]
    assert not (await repository.find(alias("foo"))).pending


async def test_creating_a_pending_dataset_again_is_fine(repository: Repository) -> None:
    first = await repository.create(alias("foo"), dataset_id())
    assert (await repository.create(alias("FOO"), dataset_id())).path == first.path


async def test_an_id_exists_once(repository: Repository) -> None:
    await add(repository, "foo", 1)
    for name in ("foo", "bar", "alice/foo"):
        with pytest.raises(RefCollision):
            await repository.create(alias(name), dataset_id(1))


async def test_a_pending_id_keeps_its_name(repository: Repository) -> None:
    await repository.create(alias("foo"), dataset_id(1))
    with pytest.raises(RefCollision):
        await repository.create(alias("bar"), dataset_id(1))


async def test_a_name_exists_once(repository: Repository) -> None:
    await add(repository, "foo", 1)
    await repository.create(alias("pending"), dataset_id(2))
    for name in ("foo", "FOO", "pending"):
        with pytest.raises(NameCollision):
            await repository.create(alias(name), dataset_id(3))


async def test_the_same_name_in_two_accounts_is_two_datasets(repository: Repository) -> None:
    await add(repository, "alice/foo", 1)
    await add(repository, "bob/foo", 2)
    assert await listed(repository) == ["alice/foo", "bob/foo"]
    assert (await repository.find(alias("bob/foo"))).id == dataset_id(2)


async def test_a_new_dataset_has_every_folder_of_the_layout(repository: Repository) -> None:
    entry = await repository.create(alias("alice/foo"), dataset_id())
    assert sorted(os.listdir(entry.path)) == ["blocks", "checkpoints", "data", "info", "refs"]
    assert (entry.path / "info" / "alias").read_bytes() == b"alice/foo"


async def test_datasets_are_placed_by_id_or_by_name(repository: Repository) -> None:
    entry = await repository.create(alias("alice/foo"), dataset_id())
    expected = dataset_id().multibase if repository.layout is RepositoryLayout.BY_ID else "alice/foo"
    assert entry.path == repository.root / expected


async def test_another_process_sees_what_is_created_renamed_and_deleted(repository: Repository) -> None:
    other = Repository.open(repository.root)
    await add(repository, "foo", 1)
    assert (await other.find(alias("foo"))).id == dataset_id(1)
    await repository.rename(alias("foo"), alias("alice/bar"))
    assert (await other.find(alias("alice/bar"))).id == dataset_id(1)
    with pytest.raises(DatasetNotFound):
        await other.find(alias("foo"))
    await repository.delete(alias("alice/bar"))
    assert await listed(other) == []


async def test_renaming_keeps_everything_else(repository: Repository) -> None:
    before = await add(repository, "foo", 1)
    head = await before.dataset.head()
    after = await repository.rename(dataset_id(1), alias("Foo"))
    assert str(after.alias) == "Foo"
    assert await after.dataset.head() == head


async def test_a_taken_name_is_refused_when_renaming(repository: Repository) -> None:
    await add(repository, "foo", 1)
    await add(repository, "bar", 2)
    with pytest.raises(NameCollision):
        await repository.rename(alias("foo"), alias("BAR"))
    assert await listed(repository) == ["bar", "foo"]


async def test_a_deleted_dataset_is_gone_and_may_come_back(repository: Repository) -> None:
    entry = await add(repository, "foo", 1)
    await repository.delete(dataset_id(1))
    assert not entry.path.exists()
    assert [name for name in os.listdir(repository.root) if name.startswith(".deleted")] == []
    await add(repository, "foo", 1)
    assert await listed(repository) == ["foo"]


async def test_deleting_what_is_not_there_is_told(repository: Repository) -> None:
    with pytest.raises(DatasetNotFound):
        await repository.delete(alias("foo"))


async def test_of_many_creators_of_one_name_one_wins(repository: Repository) -> None:
    others = [Repository.open(repository.root) for _ in range(6)]
    results = await asyncio.gather(
        *(each.create(alias("foo"), dataset_id(number)) for number, each in enumerate(others, 1)),
        return_exceptions=True,
    )
    assert len([result for result in results if isinstance(result, DatasetEntry)]) == 1
    assert {type(result) for result in results} == {DatasetEntry, NameCollision}


async def test_abandoned_datasets_are_swept(repository: Repository) -> None:
    await add(repository, "kept", 1)
    pending = await repository.create(alias("abandoned"), dataset_id(2))
    assert await repository.sweep(unused_for_s=3600) == []
    now = pending.path.stat().st_mtime + 7200
    assert await repository.sweep(unused_for_s=3600, now=now) == [pending.path]
    assert await listed(repository, include_pending=True) == ["kept"]


async def test_what_interrupted_changes_left_is_invisible_and_swept(repository: Repository) -> None:
    await add(repository, "kept", 1)
    for name in (".creating-0123456789abcdef", ".deleted-0123456789abcdef"):
        shutil.copytree((await repository.find(alias("kept"))).path, repository.root / name)
    assert await listed(repository, include_pending=True) == ["kept"]
    swept = await repository.sweep(unused_for_s=-60)
    assert sorted(path.name for path in swept) == [".creating-0123456789abcdef", ".deleted-0123456789abcdef"]


async def test_links_and_hidden_folders_are_no_datasets(repository: Repository) -> None:
    entry = await add(repository, "foo", 1)
    (repository.root / "link").symlink_to(entry.path)
    (repository.root / ".hidden").mkdir()
    (repository.root / "notes.txt").write_text("x")
    (repository.root / "not a name").mkdir()
    assert await listed(repository) == ["foo"]


@pytest.mark.parametrize("make", ["nothing", "file", "foreign folder"])
def test_what_is_no_repository_is_told_with_a_hint(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x"
    if make == "file":
        path.write_text("x")
    if make == "foreign folder":
        (path / "src").mkdir(parents=True)
        (path / "main.c").write_text("x")
    with pytest.raises(NotARepository, match="no repository") as error:
        Repository.open(path)
    assert error.value.hint
    if make == "foreign folder":
        with pytest.raises(NotARepository):
            Repository.init(path)


def test_a_workspace_of_kamu_is_pointed_into(tmp_path: Path) -> None:
    (tmp_path / ".kamu" / "datasets").mkdir(parents=True)
    with pytest.raises(NotARepository) as error:
        Repository.open(tmp_path)
    assert str(tmp_path / ".kamu" / "datasets") in str(error.value.hint)


async def test_a_single_dataset_is_hosted_in_place() -> None:
    folder = VECTORS / "us.noaa.seattle-weather"
    repository = Repository.open(folder)
    assert await listed(repository) == ["us.noaa.seattle-weather"]
    entry = await repository.find(alias("US.NOAA.seattle-weather"))
    assert entry.id == (await entry.dataset.seed()).dataset_id
    assert (await repository.find(entry.id)).path == folder
    with pytest.raises(UnsupportedOperation):
        await repository.create(alias("foo"), dataset_id())


async def test_a_folder_of_datasets_by_name_is_read() -> None:
    repository = Repository.open(VECTORS)
    assert repository.layout is RepositoryLayout.BY_ALIAS
    names = await listed(repository)
    assert "us.noaa.seattle-weather" in names
    entry = await repository.find(alias("us.noaa.seattle-weather"))
    assert (await repository.find(entry.id)).alias == entry.alias


async def test_a_server_folder_of_the_reference_is_read(tmp_path: Path) -> None:
    source = VECTORS / "us.noaa.seattle-weather"
    seed = await (await Repository.open(source).find(alias(source.name))).dataset.seed()
    shutil.copytree(source, tmp_path / seed.dataset_id.multibase)
    repository = Repository.open(tmp_path)
    assert repository.layout is RepositoryLayout.BY_ID
    assert await listed(repository) == ["us.noaa.seattle-weather"]
    assert (await repository.find(seed.dataset_id)).id == seed.dataset_id
