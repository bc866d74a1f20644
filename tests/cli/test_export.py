"""``odf export``: which datasets are in the tree, and what is printed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repository import Repository
from tests.cli.runner import odf
from tests.sync.scenarios.stage import fill, history


async def make(folder: Path, name: str, number: int, visibility: Visibility | None) -> None:
    builder = history(number=number)
    entry = await Repository.init(folder).create(DatasetAlias.from_text(name), builder.id)
    await fill(entry.dataset, builder)
    if visibility is not None:
        async with open_catalog(Settings(repo=folder).database_url) as catalog:
            owner = await catalog.accounts.find_or_create(AccountName("alice"))
            await catalog.datasets.put(DatasetRecord(builder.id, entry.alias, owner.id, visibility))


async def hide(folder: Path, number: int) -> None:
    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        await catalog.datasets.set_visibility(history(number=number).id, Visibility.PRIVATE)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A public dataset, a private one, one that the catalog does not know."""
    rows = (("alice/open", Visibility.PUBLIC), ("alice/secret", Visibility.PRIVATE), ("alice/unknown", None))
    for number, (name, visibility) in enumerate(rows, 1):
        asyncio.run(make(tmp_path / "repository", name, number, visibility))
    return tmp_path / "repository"


def exported(repository: Path, *options: object) -> list[object]:
    ran = odf("export", "--static", repository.parent / "tree", "--repo", repository, "--json", *options)
    assert ran.code == 0, ran.stderr
    return [line["name"] for line in ran.json_lines()]


def test_only_public_datasets_are_exported_unless_all_are_asked_for(repository: Path) -> None:
    assert exported(repository) == ["alice/open"]
    assert exported(repository, "--all") == ["alice/open", "alice/secret", "alice/unknown"]


def test_datasets_unknown_to_the_catalog_are_as_visible_as_the_setting_says(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODF_DEFAULT_VISIBILITY", "public")
    assert exported(repository) == ["alice/open", "alice/unknown"]


def test_a_dataset_that_was_made_private_leaves_the_tree(repository: Path) -> None:
    exported(repository)
    asyncio.run(hide(repository, 1))
    ran = odf("export", "--static", repository.parent / "tree", "--repo", repository)
    assert ran.lines == ["alice/open: removed, it is public no longer"]
    assert not list((repository.parent / "tree").glob("alice/open/*"))


def test_the_tree_is_a_repository_that_can_be_checked(repository: Path) -> None:
    exported(repository, "--all")
    assert odf("fsck", "--repo", repository.parent / "tree").code == 0
    listed = odf("list", "--repo", repository.parent / "tree", "--json").json()
    assert [each["name"] for each in listed] == ["alice/open", "alice/secret", "alice/unknown"]  # type: ignore[attr-defined, index]


def test_the_repository_itself_is_no_place_for_an_export(repository: Path) -> None:
    ran = odf("export", "--static", repository, "--repo", repository)
    assert ran.code == 5
    assert "something else than an export" in ran.stderr


def test_an_address_of_another_kind_is_refused(repository: Path) -> None:
    assert odf("export", "--static", "ftp://host/x", "--repo", repository).code == 1


def test_the_rules_of_a_snippet_are_told_as_json() -> None:
    told = odf("export", "--static", "/srv/data", "--snippet", "nginx", "--json").json()
    assert {rule["cacheControl"] for rule in told["rules"]} == {"no-cache", "public, max-age=31536000, immutable"}  # type: ignore[index, call-overload]
    assert 'root "/srv/data"' in told["snippet"]  # type: ignore[index, call-overload]
    assert odf("export", "--static", "/srv/data", "--snippet", "iis").code == 2
