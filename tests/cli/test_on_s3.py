"""Commands on a repository in S3: as on a folder, through the real program and a real server of S3."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catalog.sqlite_files import sqlite_url
from cli.exit_codes import ExitCode
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.open import init_repository, open_repository
from storage.s3.location import S3Location
from tests.cli.runner import odf
from tests.storage.chains import dataset_id
from tests.storage.s3.servers import ROOT
from tests.storage.s3.test_objects import client_of
from tests.suites.collecting import keys_of, published, replaced, store_all
from tests.suites.dataset import fill, stored_keys

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "datasets" / "us.faa.airports"
WEATHER = DatasetAlias.from_text("alice/weather")


async def _add_weather(place: S3Location) -> Dataset:
    await init_repository(str(place))
    entry = await (await open_repository(str(place))).create(WEATHER, dataset_id())
    await fill(entry.dataset, published())
    return entry.dataset


@pytest.fixture
def dataset(s3_place: S3Location) -> Dataset:
    """The one dataset of a repository in S3."""
    return asyncio.run(_add_weather(s3_place))


def keys(dataset: Dataset) -> set[str]:
    return {key for key in asyncio.run(stored_keys(dataset)) if not key.startswith("info/")}


def test_gc_says_what_would_go_and_then_frees_it(dataset: Dataset, s3_place: S3Location) -> None:
    asyncio.run(store_all(dataset, replaced()))
    ran = odf("gc", "--dry-run", "--grace", 0, "--repo", s3_place)
    assert (ran.code, ran.stderr) == (0, "")
    assert "alice/weather: would free 1 files, 14 B, in data" in ran.lines
    assert keys(dataset) == keys_of(published()) | keys_of(replaced())
    freed = odf("gc", "--grace", 0, "--json", "--repo", s3_place).json()
    assert freed["datasets"][0]["place"] == dataset_id().multibase  # type: ignore[index]
    assert freed["datasets"][0]["freed"]["blocks"]["count"] == 3  # type: ignore[index]
    assert keys(dataset) == keys_of(published())


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a catalog, named by the settings as a repository in S3 needs it."""
    file = tmp_path / "catalog.sqlite"
    monkeypatch.setenv("ODF_CATALOG_URL", sqlite_url(file))
    return file


SLICE = data_key(physical_hash(b"kept slice"))


def write(place: S3Location, key: str, data: bytes) -> None:
    """Behind the store's back."""
    path = place.below(dataset_id().multibase).path(key)
    client_of(place).put_object(Bucket=place.bucket, Key=path, Body=data)


def test_list_and_show_and_log_and_tail_read_the_bucket(s3_place: S3Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_REPO", str(s3_place))
    assert odf("init", s3_place, "--json").json() == {"repository": str(s3_place), "layout": "by-id"}
    assert odf("pull", EXAMPLE, "--as", "us.faa.airports").code == 0
    local = {verb: odf(verb, EXAMPLE, "--json").json() for verb in ("show", "tail")}
    assert [row["name"] for row in odf("list", "--json").json()] == ["us.faa.airports"]  # type: ignore[attr-defined]
    assert odf("tail", "us.faa.airports", "--json").json() == local["tail"]
    shown = odf("show", "us.faa.airports", "--json").json()
    assert shown["id"] == local["show"]["id"]  # type: ignore[index]
    assert odf("log", "us.faa.airports").lines == odf("log", EXAMPLE).lines
    assert odf("show", shown["id"]).code == 0  # type: ignore[index]
    verified = odf("verify", "--integrity-only", "--json")
    assert (verified.code, [line["verdict"] for line in verified.json_lines()]) == (0, ["valid"])
    assert odf("verify", "--integrity-only", "us.faa.airports").code == 0


def test_lineage_reads_the_bucket(s3_place: S3Location) -> None:
    odf("init", s3_place)
    for name in ("us.noaa.seattle-weather", "seattle-weather.fahrenheit"):
        assert odf("pull", "--repo", s3_place, EXAMPLE.parent / name, "--as", name).code == 0
    for question in ((), ("--offset", "7")):
        asked = ("lineage", "seattle-weather.fahrenheit", *question, "--repo")
        assert odf(*asked, s3_place).lines == odf(*asked, EXAMPLE.parent).lines != []


def test_a_name_that_is_not_there_is_told_with_those_alike(dataset: Dataset, s3_place: S3Location) -> None:
    ran = odf("show", "bob/weather", "--repo", s3_place)
    assert ran.code == ExitCode.NOT_FOUND
    assert "did you mean alice/weather?" in ran.stderr


def test_add_makes_a_dataset_from_a_manifest(s3_place: S3Location) -> None:
    odf("init", s3_place)
    added = odf("add", ROOT / "examples" / "sources" / "airports.yaml", "--repo", s3_place, "--json")
    assert added.code == 0, added.stderr
    assert [row["id"] for row in odf("list", "--json", "--repo", s3_place).json()] == [  # type: ignore[attr-defined]
        line["id"] for line in added.json_lines()
    ]


def test_pull_brings_what_is_new_and_asks_for_an_address(s3_place: S3Location) -> None:
    odf("init", s3_place)
    assert odf("pull", EXAMPLE, "--as", "airports", "--repo", s3_place).code == 0
    again = odf("pull", EXAMPLE, "--as", "airports", "--repo", s3_place)
    assert (again.code, again.lines) == (0, ["airports: up to date"])
    by_name = odf("pull", "airports", "--repo", s3_place)
    assert by_name.code != 0
    assert "its remote is not known" in by_name.stderr


def test_push_sends_from_the_bucket(dataset: Dataset, s3_place: S3Location, tmp_path: Path) -> None:
    ran = odf("push", "alice/weather", "--to", tmp_path / "copy", "--repo", s3_place)
    assert ran.code == 0, ran.stderr
    assert odf("fsck", tmp_path / "copy").code == 0
    unnamed = odf("push", "alice/weather", "--repo", s3_place)
    assert (unnamed.code, "--to is needed" in unnamed.stderr) == (ExitCode.USAGE, True)


def test_fsck_tells_damage_and_leaves_repairs_to_gc(dataset: Dataset, s3_place: S3Location) -> None:
    assert odf("fsck", "--repo", s3_place).code == 0
    write(s3_place, SLICE, b"rotten hay")
    ran = odf("fsck", "--json", "--repo", s3_place)
    assert ran.code == ExitCode.INVALID
    assert [(line["place"], line["code"]) for line in ran.json_lines()] == [(dataset_id().multibase, "damaged-object")]
    assert odf("fsck", "alice/weather", "--quick", "--repo", s3_place).code == 0
    refused = odf("fsck", "--repair", "--repo", s3_place)
    assert "odf gc" in refused.stderr


def test_fsck_heals_from_a_mirror(dataset: Dataset, s3_place: S3Location, catalog: Path, tmp_path: Path) -> None:
    assert odf("push", "alice/weather", "--to", tmp_path / "alice" / "weather", "--repo", s3_place).code == 0
    write(s3_place, SLICE, b"rotten hay")
    ran = odf("fsck", "--repair", "--from", f"{tmp_path}/{{alias}}", "--repo", s3_place)
    assert ran.code == 0, ran.stderr
    assert asyncio.run(dataset.objects.read(SLICE)) == b"kept slice"


def test_scrub_heals_from_a_mirror_and_writes_it_down(
    dataset: Dataset, s3_place: S3Location, catalog: Path, tmp_path: Path
) -> None:
    assert odf("push", "alice/weather", "--to", tmp_path / "alice" / "weather", "--repo", s3_place).code == 0
    write(s3_place, SLICE, b"rotten hay")
    assert odf("scrub", "--repo", s3_place, "--rate", 100).code == ExitCode.INVALID
    healed = odf("scrub", "--from", f"{tmp_path}/{{alias}}", "--json", "--repo", s3_place)
    assert (healed.code, [line["healed"] for line in healed.json_lines()]) == (0, [True])
    assert asyncio.run(dataset.objects.read(SLICE)) == b"kept slice"
    entries = odf("audit", "list", "--json", "--repo", s3_place).json()["entries"]  # type: ignore[index]
    assert [(entry["action"], entry["subject"]) for entry in entries] == [
        ("healed", "alice/weather"),
        ("damaged", "alice/weather"),
    ]


def test_a_bucket_is_a_mirror_to_heal_from(dataset: Dataset, s3_place: S3Location, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert odf("init", copy).code == 0
    assert odf("pull", f"{s3_place}/{dataset_id().multibase}", "--as", "weather", "--repo", copy).code == 0
    damaged = next(copy.glob("fed01*/data/f1620*"))
    damaged.write_bytes(b"rotten hay")
    assert odf("scrub", "--from", f"{s3_place}/{dataset_id().multibase}", "--repo", copy).code == 0
    assert damaged.read_bytes() == b"kept slice"


def test_backup_and_restore_from_bucket_to_folder_to_bucket(
    dataset: Dataset, s3_place: S3Location, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert odf("token", "create", "alice", "--repo", s3_place).code == 0
    expected = odf("list", "--repo", s3_place, "--json").json()
    tokens = odf("token", "list", "--repo", s3_place, "--json").json()
    ran = odf("backup", tmp_path / "backup", "--repo", s3_place)
    assert (ran.code, ran.lines[-1]) == (0, "catalog copied")
    assert odf("list", "--repo", tmp_path / "backup", "--json").json() == expected
    again = odf("backup", tmp_path / "backup", "--repo", s3_place)
    assert again.lines[0] == "alice/weather: up to date"
    there = s3_place.below("restored")
    assert odf("restore", tmp_path / "backup", there).code == ExitCode.CONFLICT
    monkeypatch.setenv("ODF_CATALOG_URL", sqlite_url(tmp_path / "restored.sqlite"))
    restored = odf("restore", tmp_path / "backup", there)
    assert (restored.code, restored.lines[-1]) == (0, "catalog restored")
    assert odf("list", "--repo", there, "--json").json() == expected
    assert odf("token", "list", "--repo", there, "--json").json() == tokens


def test_a_restore_into_a_bucket_needs_to_know_where_the_catalog_goes(
    dataset: Dataset, s3_place: S3Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODF_CATALOG_URL", raising=False)
    ran = odf("restore", tmp_path, s3_place.below("new"))
    assert ran.code != 0
    assert "ODF_CATALOG_URL" in ran.stderr


def test_reindex_knows_what_lies_in_the_bucket(dataset: Dataset, s3_place: S3Location, catalog: Path) -> None:
    assert odf("reindex", "--json", "--repo", s3_place).json() == {"found": 1, "added": 1, "removed": 0}
    assert odf("reindex", "--json", "--repo", s3_place).json() == {"found": 1, "added": 0, "removed": 0}


def test_a_server_is_no_place_for_commands_on_what_is_stored() -> None:
    for verb in (["gc"], ["fsck"], ["list"], ["reindex"], ["scrub"]):
        ran = odf(*verb, "--repo", "http://127.0.0.1:9/")
        assert ran.code != 0
        assert "works on a folder" in ran.stderr, verb


def test_backup_into_a_bucket_and_restore_from_it(
    s3_place: S3Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    assert odf("init", here).code == 0
    assert odf("pull", EXAMPLE, "--as", "alice/airports", "--repo", here).code == 0
    assert odf("token", "create", "alice", "--repo", here).code == 0
    expected = odf("list", "--repo", here, "--json").json()
    tokens = odf("token", "list", "--repo", here, "--json").json()
    ran = odf("backup", s3_place, "--repo", here)
    assert (ran.code, ran.lines[-1]) == (0, "catalog copied")
    assert odf("backup", s3_place, "--repo", here).lines == ["alice/airports: up to date", "catalog copied"]
    restored = odf("restore", s3_place, back)
    assert (restored.code, restored.lines[-1]) == (0, "catalog restored")
    assert odf("list", "--repo", back, "--json").json() == expected
    assert odf("token", "list", "--repo", back, "--json").json() == tokens
    assert odf("fsck", "--repo", back).code == 0


def test_fsck_repairs_a_bucket_from_a_copy(
    dataset: Dataset, s3_place: S3Location, catalog: Path, tmp_path: Path
) -> None:
    assert odf("push", "alice/weather", "--to", tmp_path / "alice" / "weather", "--repo", s3_place).code == 0
    write(s3_place, SLICE, b"rotten hay")
    ran = odf("fsck", "--repair", "--from", f"{tmp_path}/{{alias}}", "--repo", s3_place)
    assert (ran.code, f"healed alice/weather: {SLICE}" in ran.stderr) == (0, True)
    assert asyncio.run(dataset.objects.read(SLICE)) == b"kept slice"


@pytest.mark.usefixtures("catalog")
def test_a_verification_leaves_its_report_in_the_bucket(dataset: Dataset, s3_place: S3Location) -> None:
    ran = odf("verify", "--integrity-only", "alice/weather", "--repo", s3_place, "--json")
    name = ran.json_lines()[0]["report"]
    raw = odf("report", "show", "alice/weather", "--repo", s3_place, "--json").stdout
    assert str(physical_hash(raw)) == name
    assert f"reports/{name}" in keys(dataset)
    odf("gc", "--grace", 0, "--repo", s3_place)
    assert f"reports/{name}" in keys(dataset)
