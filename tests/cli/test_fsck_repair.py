"""``odf fsck --repair --from``: damage is explained, healed from a copy, written down; what stays damaged is told."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import physical_hash
from storage.repository import Repository
from tests.cli.runner import odf
from tests.source_tree import ROOT
from tests.storage.chains import dataset_id
from tests.suites.collecting import published
from tests.suites.dataset import fill

SLICE = data_key(physical_hash(b"kept slice"))
BLOCKS = [block_key(block.hash) for block in published().blocks]


async def _make(folder: Path) -> Path:
    entry = await Repository.init(folder).create(DatasetAlias.from_text("a"), dataset_id())
    await fill(entry.dataset, published())
    return entry.folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The dataset folder, beside a sound copy."""
    folder = asyncio.run(_make(tmp_path / "repository"))
    shutil.copytree(folder, tmp_path / "copies" / "a")
    return folder


def copies(folder: Path) -> str:
    return f"{folder.parent.parent}/copies/{{alias}}"


def test_every_damage_is_healed_and_written_to_the_trail(folder: Path) -> None:
    (folder / SLICE).write_bytes(b"rotten")
    (folder / BLOCKS[0]).unlink()
    (folder / BLOCKS[2]).write_bytes(b"rotten")
    assert odf("fsck", "--repo", folder.parent).code == 3
    ran = odf("fsck", "--repair", "--from", copies(folder), "--repo", folder.parent)
    assert ran.code == 0
    assert [line for line in ran.stderr.splitlines() if line.startswith("healed")] == [
        f"healed a: {key}" for key in (BLOCKS[2], BLOCKS[0], SLICE)
    ]
    entries = odf("audit", "list", "--repo", folder.parent, "--json").json()["entries"]  # type: ignore[index]
    assert {entry["action"] for entry in entries} == {"healed", "odf fsck"}


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_dataset_that_cannot_even_be_identified_is_healed(folder: Path, number: int) -> None:
    by_alias = folder.parent.parent / "by-alias" / "a"
    shutil.copytree(folder, by_alias)
    shutil.rmtree(by_alias / "info")
    (by_alias / BLOCKS[number]).unlink()
    assert odf("fsck", "--repair", "--from", copies(folder), "--repo", by_alias.parent).code == 0


def test_a_dataset_folder_by_itself_is_healed(folder: Path) -> None:
    (folder / SLICE).unlink()
    ran = odf("fsck", folder, "--repair", "--from", folder.parent.parent / "copies" / "a")
    assert (ran.code, (folder / SLICE).read_bytes()) == (0, b"kept slice")


def test_one_dataset_of_a_repository_is_healed_by_its_name(folder: Path) -> None:
    (folder / SLICE).unlink()
    assert odf("fsck", "a", "--repair", "--from", copies(folder), "--repo", folder.parent).code == 0
    entries = odf("audit", "list", "--repo", folder.parent, "--json").json()["entries"]  # type: ignore[index]
    assert [entry["details"]["key"] for entry in entries if entry["action"] == "healed"] == [SLICE]


def test_what_no_copy_has_stays_damaged_and_ends_with_3(folder: Path) -> None:
    (folder / SLICE).write_bytes(b"rotten")
    (folder.parent.parent / "copies" / "a" / SLICE).unlink()
    ran = odf("fsck", "--repair", "--from", copies(folder), "--repo", folder.parent)
    assert ran.code == 3
    assert ran.lines[0].startswith("wrong-size: ")
    assert "--repair --from" in ran.lines[1]


def test_copies_without_a_repair_are_a_mistake(folder: Path) -> None:
    assert odf("fsck", "--from", copies(folder), "--repo", folder.parent).code == 2


def test_every_code_of_a_finding_is_explained() -> None:
    source = "".join((ROOT / "storage" / name).read_text() for name in ("fsck.py", "fsck_files.py", "s3/repository.py"))
    codes = set(re.findall(r'"((?:[a-z]+-)+[a-z]+|orphan|leftover)"', source)) - {"r-x"}
    page = (ROOT / "docs" / "how-to" / "scrub-and-heal.md").read_text()
    assert {code for code in codes if f"`{code}`" not in page} == set()
