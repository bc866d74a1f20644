"""Folders of datasets: what is found, what is created, and what two processes may do at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from pathlib import Path

import pytest

from opendatafabric.errors import (
    DatasetNotFound,
    NotARepository,
    StorageError,
    UnsupportedOperation,
)
from storage import folder_changes
from storage.folders import MARKER_NAME, RepositoryLayout
from storage.local import durable
from storage.repository import Repository
from tests.storage.chains import chain, dataset_id
from tests.suites.dataset import fill
from tests.suites.repository import RepositorySuite, add, alias, listed

VECTORS = Path(__file__).parent.parent / "vectors" / "datasets"


@pytest.fixture(params=[RepositoryLayout.BY_ID, RepositoryLayout.BY_ALIAS])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    return Repository.init(tmp_path / "repository", request.param)


class TestFolders(RepositorySuite):
    def opened_again(self, repository: Repository) -> Repository:
        return Repository.open(repository.root)


async def test_making_a_repository_twice_opens_it(repository: Repository) -> None:
    await add(repository, "foo", 1)
    assert await listed(Repository.init(repository.root)) == ["foo"]


async def test_a_new_dataset_has_every_folder_of_the_layout(repository: Repository) -> None:
    entry = await repository.create(alias("alice/foo"), dataset_id())
    assert sorted(os.listdir(entry.path)) == ["blocks", "checkpoints", "data", "info", "refs"]
    assert (entry.path / "info" / "alias").read_bytes() == b"alice/foo"


async def test_datasets_are_placed_by_id_or_by_name(repository: Repository) -> None:
    entry = await repository.create(alias("alice/foo"), dataset_id())
    expected = dataset_id().multibase if repository.layout is RepositoryLayout.BY_ID else "alice/foo"
    assert entry.path == repository.root / expected


async def test_a_deleted_dataset_leaves_no_folder(repository: Repository) -> None:
    entry = await add(repository, "foo", 1)
    await repository.delete(dataset_id(1))
    assert not entry.folder.exists()
    assert [name for name in os.listdir(repository.root) if name.startswith(".deleted")] == []


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


async def test_a_first_push_that_ends_while_it_is_given_up_keeps_its_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository.init(tmp_path)
    entry = await repository.create(alias("a"), dataset_id())
    last_change = folder_changes.last_change

    def push_meanwhile(path: Path) -> float:
        found = last_change(path)
        pushing = threading.Thread(target=asyncio.run, args=(fill(entry.dataset, chain()),))
        pushing.start()
        pushing.join()
        return found

    monkeypatch.setattr(folder_changes, "last_change", push_meanwhile)
    assert await repository.sweep(unused_for_s=-60) == []
    assert await (await repository.find(dataset_id())).dataset.head() == chain().head


async def test_a_first_push_that_goes_on_after_it_was_given_up_fails(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path)
    entry = await repository.create(alias("a"), dataset_id())
    with durable.opened_folder(entry.folder, "refs") as refs:
        assert len(await repository.sweep(unused_for_s=-60)) == 1
        with pytest.raises(FileNotFoundError):
            durable.replace_file(refs, "head", b"late")
    with pytest.raises(DatasetNotFound):
        await fill(entry.dataset, chain())
    assert os.listdir(tmp_path) == [MARKER_NAME]


@pytest.mark.parametrize("layout", [RepositoryLayout.BY_ID, RepositoryLayout.BY_ALIAS])
async def test_retiring_that_was_cut_short_is_done_or_not_begun(
    tmp_path: Path, layout: RepositoryLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository.init(tmp_path / "root", layout)
    await add(repository, "alice/foo", 1)
    for step in ("write_identity", "_flush", "kept_place"):
        with monkeypatch.context() as patched:
            patched.setattr(folder_changes, step, _fail)
            with pytest.raises(StorageError, match="cut"):
                await repository.retire(dataset_id(1))
        seen = await listed(repository)
        assert (seen, len(await repository.retired())) in ((["alice/foo"], 0), ([], 1))
        await repository.retire(dataset_id(1))
        assert (await repository.restore(dataset_id(1), alias("alice/foo"))).id == dataset_id(1)


def _fail(*_: object) -> None:
    raise OSError("cut")
