"""Commands on a repository at an IPFS node: as on a folder, through the real program and a real node."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from catalog.sqlite_files import sqlite_url
from cli.catalogs import connection_to
from cli.exit_codes import ExitCode
from opendatafabric.dataset_ref import DatasetAlias
from storage.dataset import Dataset
from storage.open import open_repository
from tests.cli.runner import odf
from tests.ipfs.node import NodeAddresses, ipfs_node
from tests.storage.chains import dataset_id
from tests.suites.collecting import published, replaced, store_all
from tests.suites.dataset import fill

pytestmark = pytest.mark.slow

__all__ = ["ipfs_node"]

WEATHER = DatasetAlias.from_text("alice/weather")


@pytest.fixture
def place(ipfs_node: NodeAddresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a repository with one dataset, some garbage in it, which is also the one of ``ODF_REPO``."""
    address = f"{ipfs_node.rpc}/{uuid.uuid4().hex}"
    monkeypatch.setenv("ODF_CATALOG_URL", sqlite_url(tmp_path / "catalog.sqlite"))
    monkeypatch.setenv("ODF_REPO", address)
    assert odf("init", address).code == 0
    asyncio.run(_add_weather(address))
    return address


async def _add_weather(address: str) -> None:
    async with connection_to(address) as connection:
        entry = await (await open_repository(address, connection)).create(WEATHER, dataset_id())
        dataset: Dataset = entry.dataset
        await store_all(dataset, replaced())
        await fill(dataset, published())


def test_gc_says_what_would_go_and_then_frees_it(place: str) -> None:
    ran = odf("gc", "--dry-run", "--grace", 0)
    assert "alice/weather: would free 1 files, 14 B, in data" in ran.lines
    freed = odf("gc", "--grace", 0, "--json").json()
    assert freed["datasets"][0]["freed"]["blocks"]["count"] == 3  # type: ignore[index]
    assert odf("gc", "--grace", 0, "--json").json()["freed_bytes"] == 0
    assert odf("fsck", "alice/weather").code == 0


def test_list_and_log_and_show_read_the_node(place: str) -> None:
    assert [row["name"] for row in odf("list", "--json").json()] == ["alice/weather"]  # type: ignore[attr-defined]
    assert len(odf("log", "alice/weather").lines) == len(published().blocks)
    assert odf("show", "Alice/Weather", "--json").json()["id"] == str(dataset_id())


def test_everything_is_scrubbed_and_checked(place: str) -> None:
    assert odf("scrub").lines[-1].endswith("0 damaged, 0 of them healed")
    assert odf("fsck", "alice/weather").code == 0
    assert "4 blocks, 1 objects" in odf("verify", "--integrity-only").stdout.decode()


def test_it_is_backed_up_into_a_folder_and_known_to_the_index(place: str, tmp_path: Path) -> None:
    assert odf("backup", tmp_path / "backup").code == 0
    assert [row["name"] for row in odf("list", "--repo", tmp_path / "backup", "--json").json()] == ["alice/weather"]  # type: ignore[attr-defined]
    assert odf("reindex").code == 0


def test_a_dataset_that_is_not_there_is_told_as_that(place: str) -> None:
    ran = odf("log", "bob/weather")
    assert ran.code == ExitCode.NOT_FOUND
    assert "did you mean alice/weather?" in ran.stderr


def test_what_needs_a_folder_says_so(place: str) -> None:
    ran = odf("add", "whatever.yaml")
    assert (ran.code, "this command works on a folder or on S3" in ran.stderr) == (ExitCode.FAILED, True)
