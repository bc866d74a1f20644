"""``odf quota``: what accounts and datasets have, and may have."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from storage.repository import Repository
from storage.stored_amount import stored_amount
from tests.cli.runner import odf
from tests.storage.chains import dataset_id
from tests.suites.collecting import published
from tests.suites.dataset import fill


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository of alice with one dataset, indexed."""

    async def made() -> None:
        entry = await Repository.init(tmp_path).create(DatasetAlias.from_text("alice/weather"), dataset_id())
        await fill(entry.dataset, published())

    asyncio.run(made())
    assert odf("reindex", "--repo", tmp_path).code == 0
    return tmp_path


async def size_of(place: Path) -> int:
    return (
        await stored_amount((await Repository.open(place).find(DatasetAlias.from_text("alice/weather"))).dataset)
    ).bytes


def test_reindex_counts_what_is_there(place: Path) -> None:
    told = odf("quota", "show", "alice", "--repo", place, "--json").json()
    assert told["used"]["bytes"] == asyncio.run(size_of(place))  # type: ignore[index]
    assert told["used"]["datasets"] == 1  # type: ignore[index]
    assert told["quota"] == {"bytes": 0, "objects": 0, "datasets": 0}  # type: ignore[index]


def test_what_is_set_counts_and_what_is_not_is_as_the_node_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_QUOTA_ACCOUNT_OBJECTS", "7")
    assert odf("quota", "set", "alice", "--bytes", "10GiB", "--datasets", "any", "--repo", place).code == 0
    told = odf("quota", "show", "alice", "--repo", place, "--json").json()
    assert told["quota"] == {"bytes": 10 * 2**30, "objects": 7, "datasets": 0}  # type: ignore[index]
    table = odf("quota", "show", "alice", "--repo", place).stdout.decode()
    assert "10.0 GiB" in table


def test_a_dataset_has_a_quota_of_its_own(place: Path) -> None:
    assert odf("quota", "set", "alice/weather", "--bytes", "1MiB", "--repo", place).code == 0
    told = odf("quota", "show", "alice/weather", "--repo", place, "--json").json()
    assert told["quota"]["bytes"] == 2**20  # type: ignore[index]
    assert odf("quota", "show", "nobody", "--repo", place).code == 4


@pytest.mark.parametrize("size", ["", "0", "-1", "1kB", "1.5GiB", "9999999TiB", "x"])
def test_what_is_no_size_is_refused(place: Path, size: str) -> None:
    assert odf("quota", "set", "alice", f"--bytes={size}", "--repo", place).code == 2
