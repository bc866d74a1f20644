"""``odf backup`` and ``odf restore``: the same datasets, accounts and permissions come back, and damage does not."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from storage.repository import Repository
from tests.cli.runner import odf
from tests.storage.chains import ChainBuilder, dataset_id
from tests.suites.collecting import published, replaced
from tests.suites.dataset import fill


async def _add(folder: Path, name: str, number: int) -> None:
    builder = ChainBuilder(dataset_id(number))
    builder.data(b"slice of %d" % number)
    entry = await Repository.open(folder).create(DatasetAlias.from_text(name), dataset_id(number))
    await fill(entry.dataset, builder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    Repository.init(tmp_path / "repository")
    for number, name in enumerate(("alice/a", "alice/b"), 1):
        asyncio.run(_add(tmp_path / "repository", name, number))
    assert odf("token", "create", "alice", "--repo", tmp_path / "repository").code == 0
    return tmp_path / "repository"


def listed(folder: Path) -> object:
    return odf("list", "--repo", folder, "--json").json()


def test_a_backup_is_a_repository_with_the_same_datasets(repository: Path, tmp_path: Path) -> None:
    ran = odf("backup", tmp_path / "backup", "--repo", repository)
    assert ran.code == 0, ran.stderr
    assert ran.lines[-1] == "catalog copied"
    assert listed(tmp_path / "backup") == listed(repository)
    assert odf("fsck", "--repo", tmp_path / "backup").code == 0


def test_a_second_backup_copies_only_what_is_new(repository: Path, tmp_path: Path) -> None:
    odf("backup", tmp_path / "backup", "--repo", repository)
    asyncio.run(_add(repository, "alice/c", 3))
    lines = odf("backup", tmp_path / "backup", "--repo", repository, "--json").json_lines()
    moved = {str(line["name"]): line["objectsMoved"] for line in lines if "name" in line}
    assert moved == {"alice/a": 0, "alice/b": 0, "alice/c": 1}


def test_a_restored_repository_gives_the_same_answers(repository: Path, tmp_path: Path) -> None:
    odf("backup", tmp_path / "backup", "--repo", repository)
    expected, tokens = listed(repository), odf("token", "list", "--repo", repository, "--json").json()
    shutil.rmtree(repository)
    assert odf("restore", tmp_path / "backup", repository).code == 0
    assert listed(repository) == expected
    assert odf("token", "list", "--repo", repository, "--json").json() == tokens
    assert odf("fsck", "--repo", repository).code == 0


def test_nothing_is_restored_over_what_is_there(repository: Path, tmp_path: Path) -> None:
    odf("backup", tmp_path / "backup", "--repo", repository)
    assert odf("restore", tmp_path / "backup", repository).code == 5


def test_damage_is_not_copied(repository: Path, tmp_path: Path) -> None:
    damaged = next(repository.glob("*/data/f1620*"))
    damaged.write_bytes(b"slice of ?")
    assert odf("backup", tmp_path / "backup", "--repo", repository).code == 3
    assert odf("fsck", "--repo", tmp_path / "backup").code == 0


def test_a_renamed_dataset_and_a_replaced_chain_are_followed(tmp_path: Path) -> None:
    source = Repository.init(tmp_path / "repository")

    async def make() -> None:
        entry = await source.create(DatasetAlias.from_text("old"), dataset_id())
        await fill(entry.dataset, published())

    async def change() -> None:
        entry = await source.rename(dataset_id(), DatasetAlias.from_text("new"))
        for name, content in replaced().slices.items():
            await entry.dataset.writable_objects().put(f"data/{name}", content)
        await entry.dataset.append(replaced().blocks[2:], expected_head=published().head, force=True)

    asyncio.run(make())
    odf("backup", tmp_path / "backup", "--repo", source.root)
    asyncio.run(change())
    assert odf("backup", tmp_path / "backup", "--repo", source.root).code == 0
    assert listed(tmp_path / "backup") == listed(source.root)


def test_without_its_catalog_a_repository_knows_its_datasets_again(repository: Path) -> None:
    expected = listed(repository)
    before = odf("reindex", "--repo", repository, "--json").json()
    for path in repository.glob(".catalog.sqlite*"):
        path.unlink()
    again = odf("reindex", "--repo", repository, "--json").json()
    assert (before["found"], again) == (2, {"found": 2, "added": 2, "removed": 0})  # type: ignore[index]
    assert listed(repository) == expected
