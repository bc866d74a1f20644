"""``odf ingest`` and ``odf pull`` of sources, by the commands of the how-to, with a worker of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.cli.workers import own_worker
from tests.repo_server.served import served
from tests.source_tree import ROOT

JSON = 'odf ingest --json "$ADDRESS/default/us.faa.airports" examples/sources/airports-2.csv'
HOW_TO = ROOT / "docs" / "how-to" / "ingest.md"
WEATHER_NAME = "us.noaa.seattle-weather"
WEATHER = ROOT / "examples" / "sources" / "seattle-weather.csv"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a worker and credentials of our own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with own_worker(tmp_path / "spark"):
        yield tmp_path


def add_weather(folder: Path, repository: Path) -> Path:
    """The polled dataset of the examples, over a file of ours; returns that file."""
    file = folder / "weather.csv"
    file.write_bytes(WEATHER.read_bytes())
    snapshot = (WEATHER.parent / "seattle-weather.yaml").read_text()
    (folder / "weather.yaml").write_text(snapshot.replace("file:///data/seattle-weather.csv", file.as_uri()))
    assert odf("add", "--repo", repository, folder / "weather.yaml").code == 0
    return file


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_commands_of_the_how_to_do_what_it_says(home: Path) -> None:
    (home / "examples").symlink_to(ROOT / "examples")
    push, sent, once, in_pieces, pull = re.findall(r"^```sh\n(.*?)^```", HOW_TO.read_text(), re.MULTILINE | re.DOTALL)
    printed = run(push, home)
    assert re.search(r"500 records read, \+500 appended, -0 retracted, ~0 corrected", printed)
    assert re.search(r"600 records read, \+\d+ appended, -\d+ retracted, ~\d+ corrected", printed)
    assert re.search(r"nothing new, 600 records read", printed)
    add_weather(home, home / "my-repository")
    assert "1461 records read, +1461 appended" in run(pull, home)
    assert "up to date" in run(pull, home)
    token = odf("token", "create", "default", "--repo", home / "my-repository").lines[0]
    told = [json.loads(line) for line in asyncio.run(run_at_server(home, token, sent + JSON, once, once, in_pieces))]
    assert (told[0]["read"], told[0]["changed"]) == (600, False)
    assert told[1] == told[2]
    assert [each["rows"]["read"] for each in told[1:]] == [500, 500, 600]
    verified = odf("verify", "--repo", home / "my-repository", "us.faa.airports")
    assert verified.code == 0


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_worker_polls_what_is_due_and_what_came_of_it_is_shown(home: Path) -> None:
    repository = home / "repository"
    odf("init", repository)
    file = add_weather(home, repository)
    odf("schedule", "set", WEATHER_NAME, "0 6 * * *", "--repo", repository)
    for records in (1461, 1):
        odf("schedule", "run-now", WEATHER_NAME, "--repo", repository)
        assert odf("worker", "--once", "--repo", repository).code == 0
        (found,) = odf("schedule", "list", "--json", "--repo", repository).json()  # type: ignore[misc]
        assert (found["lastError"], found["failures"], found["lastOutcome"]["appended"]) == (None, 0, records)
        with file.open("a") as more:
            more.write("2016/01/01,0.0,1.0,0.0,1.0,sun\n")
    assert odf("tail", "--json", "--repo", repository, WEATHER_NAME).json() != []


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_is_wrong_is_said_with_its_line_and_nothing_is_added(home: Path) -> None:
    repository = home / "repository"
    odf("init", repository)
    odf("add", "--repo", repository, ROOT / "examples" / "sources" / "airports.yaml")
    ran = odf("ingest", "--json", "--repo", repository, "us.faa.airports", "-", stdin="iata\n1\n")
    assert ran.code == 3
    assert json.loads(ran.stderr.splitlines()[-1])["error"]["code"] == "malformed-source"
    assert "line 2" in ran.stderr
    assert odf("tail", "--json", "--repo", repository, "us.faa.airports").json() == []


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    odf("init", tmp_path)
    odf("add", "--repo", tmp_path, ROOT / "examples" / "sources" / "airports.yaml")
    ran = odf("ingest", "--repo", tmp_path, "us.faa.airports", tmp_path / "nowhere.csv")
    assert (ran.code, "nowhere.csv" in ran.stderr) == (4, True)


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    ran = odf("ingest", "--repo", tmp_path, "name", "file", "--system-time", "yesterday")
    assert ran.code == 3


async def run_at_server(home: Path, token: str, *scripts: str) -> list[str]:
    """What the scripts print last, with a server of the repository beside them."""
    async with served(home / "my-repository") as server:
        setup = f"export ADDRESS={server.address} TOKEN={token}\n"
        return [(await asyncio.to_thread(run, setup + script, home)).splitlines()[-1] for script in scripts]


def run(script: str, folder: Path) -> str:
    """What the commands print; they must not fail."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
