"""Looking at datasets: list, show, log, tail, over folders."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT
from tests.vectors.load import FOLDER

DATASETS = ROOT / "examples" / "datasets"
NAMES = sorted(path.name for path in DATASETS.iterdir() if path.is_dir())
AIRPORTS = DATASETS / "us.faa.airports"


@pytest.mark.parametrize("name", NAMES)
def test_the_log_as_yaml_is_what_the_reference_prints(name: str) -> None:
    ran = odf("log", DATASETS / name, "-o", "yaml")
    assert ran.code == 0, ran.stderr
    assert ran.stdout.decode().rstrip("\n") == (FOLDER / "datasets" / f"{name}.log.yaml").read_text().rstrip("\n")


def test_the_log_is_limited_and_begins_with_the_head() -> None:
    lines = odf("log", AIRPORTS, "--limit", 2).lines
    assert len(lines) == 2
    assert (AIRPORTS / "refs" / "head").read_text() in lines[0]


def test_the_log_as_json_has_a_block_a_line() -> None:
    blocks = odf("log", AIRPORTS, "--json").json_lines()
    assert [block["sequenceNumber"] for block in blocks] == [6, 5, 4, 3, 2, 1, 0]
    assert blocks[-1]["event"]["kind"] == "Seed"  # type: ignore[index]


def test_a_repository_lists_its_datasets_by_name() -> None:
    rows = odf("list", "--repo", DATASETS, "--json").json()
    assert [row["name"] for row in rows] == NAMES  # type: ignore[attr-defined]


def test_a_dataset_is_found_by_name_in_any_case_and_by_id() -> None:
    by_name = odf("show", "US.FAA.Airports", "--repo", DATASETS, "--json").json()
    by_id = odf("show", by_name["id"], "--repo", DATASETS, "--json").json()  # type: ignore[index]
    assert by_id["head"] == by_name["head"]  # type: ignore[index]


def test_show_counts_what_the_chain_holds() -> None:
    shown = odf("show", AIRPORTS, "--json").json()
    assert {name: shown[name] for name in ("kind", "blocks", "records", "slices")} == {  # type: ignore[index]
        "kind": "Root",
        "blocks": 7,
        "records": 884,
        "slices": 4,
    }


def test_show_tells_people_licence_and_schema() -> None:
    text = "\n".join(odf("show", DATASETS / "us.noaa.seattle-weather").lines)
    assert "Creative Commons Public Domain Mark 1.0" in text
    assert "temp_max  Float64" in text


def test_tail_shows_operations_as_signs_and_the_newest_record_last() -> None:
    lines = odf("tail", AIRPORTS, "-n", 3).lines
    assert len(lines) == 4
    assert lines[0].split()[:2] == ["offset", "op"]
    assert [line.split()[0] for line in lines[1:]] == ["881", "882", "883"]
    assert {line.split()[1] for line in lines[1:]} <= {"+A", "-R", "-C", "+C"}


def test_tail_reaches_back_over_several_slices() -> None:
    records = odf("tail", AIRPORTS, "-n", 400, "--json").json()
    offsets = [record["offset"] for record in records]  # type: ignore[attr-defined]
    assert offsets == list(range(484, 884))


def test_a_dataset_without_records_says_so(tmp_path: Path) -> None:
    odf("init", tmp_path / "r")
    odf("add", "--repo", tmp_path / "r", ROOT / "examples" / "sources" / "stocks.yaml")
    ran = odf("tail", "--repo", tmp_path / "r", "com.yahoo.stocks.monthly")
    assert (ran.code, ran.stdout) == (0, b"")
    assert "no records" in ran.stderr


def test_what_is_not_there_ends_with_not_found(tmp_path: Path) -> None:
    assert odf("show", "nothing", "--repo", DATASETS).code == 4
    assert odf("list", "--repo", tmp_path).code == 4
    assert odf("list", "--repo", tmp_path / "missing").code == 4


def test_a_name_under_another_account_is_offered(tmp_path: Path) -> None:
    shutil.copytree(AIRPORTS, tmp_path / "faa" / AIRPORTS.name)
    ran = odf("show", AIRPORTS.name, "--repo", tmp_path)
    assert ran.code == 4
    assert f"did you mean faa/{AIRPORTS.name}?" in ran.stderr


def test_a_name_outside_the_grammar_is_a_usage_error() -> None:
    assert odf("show", "a//b", "--repo", DATASETS).code == 2


def test_listing_a_server_is_refused_with_a_hint() -> None:
    ran = odf("list", "--repo", "http://127.0.0.1:1/")
    assert ran.code == 1
    assert "hint:" in ran.stderr


def test_a_damaged_slice_is_not_shown(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(AIRPORTS, tmp_path / "copy"))
    for file in (copy / "data").iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert odf("tail", copy).code == 3


MADE = "2026-11-21T02:54:16Z"
"""A system time between the first and the second slice of the airports."""


def test_tail_shows_what_was_known_at_a_system_time() -> None:
    records = odf("tail", AIRPORTS, "-n", 2, "--as-at", MADE, "--json").json()
    assert [record["op"] for record in records] == [0, 0]  # type: ignore[attr-defined]
    assert all(record["system_time"] < MADE for record in records)  # type: ignore[attr-defined]


def test_tail_shows_what_was_known_at_a_block() -> None:
    block = odf("log", AIRPORTS, "--json").json_lines()[-4]["hash"]
    records = odf("tail", AIRPORTS, "-n", 1, "--at-block", block, "--json").json()
    assert [record["op"] for record in records] == [0]  # type: ignore[attr-defined]


def test_tail_carries_retractions_and_corrections_out() -> None:
    records = odf("tail", AIRPORTS, "-n", 1000, "--state", "--json").json()
    assert {record["op"] for record in records} == {0, 3}  # type: ignore[attr-defined]
    assert len({record["iata"] for record in records}) == len(records) == 500  # type: ignore[attr-defined, arg-type]


def test_tail_leaves_out_what_had_not_happened_yet() -> None:
    assert odf("tail", AIRPORTS, "--as-of", "2020-01-01T00:00:00Z", "--json").json() == []


def test_tail_refuses_a_time_that_is_none() -> None:
    ran = odf("tail", AIRPORTS, "--as-at", "yesterday")
    assert ran.code != 0
    assert "RFC 3339" in ran.stderr


def test_a_dataset_is_made_as_of_the_time_that_is_given(tmp_path: Path) -> None:
    odf("init", tmp_path / "r")
    stocks = ROOT / "examples" / "sources" / "stocks.yaml"
    assert odf("add", "--repo", tmp_path / "r", stocks, "--system-time", "2024-01-01T00:00:00Z").code == 0
    blocks = odf("log", "--repo", tmp_path / "r", "com.yahoo.stocks.monthly", "--json").json_lines()
    assert {block["systemTime"] for block in blocks} == {"2024-01-01T00:00:00Z"}


def test_a_list_says_how_each_dataset_stands(tmp_path: Path) -> None:
    odf("init", tmp_path / "r")
    for name in ("us.noaa.seattle-weather", "us.faa.airports"):
        shutil.copytree(ROOT / "examples" / "datasets" / name, tmp_path / "r" / name)
    odf("verify", "--integrity-only", "--repo", tmp_path / "r", "us.faa.airports")
    listed: Any = odf("list", "--verified", "--repo", tmp_path / "r", "--json").json()
    assert {row["name"]: row["verification"] for row in listed} == {
        "us.noaa.seattle-weather": "unknown",
        "us.faa.airports": "verified",
    }
    assert odf("list", "--verified", "--repo", tmp_path / "r").lines[0].split()[-1] == "VERIFICATION"
    assert "VERIFICATION" not in odf("list", "--repo", tmp_path / "r").lines[0]
