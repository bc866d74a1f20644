"""``odf scrub`` and ``odf audit``: damage is found, healed and written down."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from storage.repository import Repository
from tests.cli.runner import odf
from tests.storage.chains import dataset_id
from tests.suites.collecting import published
from tests.suites.dataset import fill


async def _make(folder: Path) -> Path:
    entry = await Repository.init(folder).create(DatasetAlias.from_text("a"), dataset_id())
    await fill(entry.dataset, published())
    return entry.path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The dataset folder, beside a copy."""
    folder = asyncio.run(_make(tmp_path / "repository"))
    shutil.copytree(folder, tmp_path / "copies" / "a")
    return folder


def damage(folder: Path) -> Path:
    path = next((folder / "data").iterdir())
    path.write_bytes(b"k" + path.read_bytes()[:0:-1])
    return path


def test_a_sound_repository_ends_with_0(folder: Path) -> None:
    ran = odf("scrub", "--repo", folder.parent)
    assert (ran.code, ran.lines) == (0, ["5 files read, 0 damaged, 0 of them healed"])


def test_damage_is_told_then_healed_from_a_copy_and_both_are_in_the_trail(folder: Path, tmp_path: Path) -> None:
    path = damage(folder)
    assert odf("scrub", "a", "--repo", folder.parent).code == 3
    healed = odf("scrub", "--from", f"{tmp_path}/copies/{{alias}}", "--json", "--repo", folder.parent)
    assert healed.code == 0
    assert [(line["name"], line["healed"]) for line in healed.json_lines()] == [("a", True)]
    assert path.read_bytes() == b"kept slice"
    entries = odf("audit", "list", "--repo", folder.parent, "--json").json()["entries"]  # type: ignore[index]
    assert [(entry["action"], entry["subject"]) for entry in entries] == [("healed", "a"), ("damaged", "a")]
    assert entries[0]["details"]["key"] == f"data/{path.name}"


def test_a_trail_that_was_changed_ends_with_3(folder: Path) -> None:
    damage(folder)
    odf("scrub", "--repo", folder.parent)
    with sqlite3.connect(folder.parent / ".catalog.sqlite") as behind_its_back:
        behind_its_back.execute("DROP TRIGGER audit_no_update")
        behind_its_back.execute("UPDATE audit SET subject = 'b'")
    behind_its_back.close()
    ran = odf("audit", "list", "--repo", folder.parent)
    assert ran.code == 3
    assert "entry 1" in ran.stderr
