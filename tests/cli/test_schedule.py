"""``odf schedule`` and the worker that does it: set, listed, run, failed, paused, removed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

HOW_TO = ROOT / "docs" / "how-to" / "poll-on-a-schedule.md"
SOURCES = ROOT / "examples" / "sources"
WEATHER = "us.noaa.seattle-weather"
WORKER = (sys.executable, "-m", "cli.main", "worker")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a dataset whose source is gone."""
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    odf("init", tmp_path / "mine")
    text = (SOURCES / "seattle-weather.yaml").read_text()
    (tmp_path / "weather.yaml").write_text(text.replace("/data/seattle", f"{tmp_path}/gone"))
    assert odf("add", tmp_path / "weather.yaml", SOURCES / "airports.yaml").code == 0
    return tmp_path / "mine"


def listed() -> list[dict[str, Any]]:
    """The schedules."""
    found: Any = odf("schedule", "list", "--json").json()
    return list(found)


def test_a_schedule_is_set_and_listed(mine: Path) -> None:
    ran = odf("schedule", "set", WEATHER, "0 6 * * *", "--timezone", "Europe/Berlin", "--jitter", "10m")
    assert ran.code == 0, ran.stderr
    assert ran.lines[0].startswith(f"{WEATHER}: polled next at 2")
    (found,) = listed()
    assert (found["dataset"], found["cron"], found["timezone"]) == (WEATHER, "0 6 * * *", "Europe/Berlin")
    assert (found["jitterS"], found["lastRunAt"], found["lastError"], found["failures"]) == (600, None, None, 0)
    assert WEATHER in odf("schedule", "list").lines[1]


def test_a_run_that_was_asked_for_is_done_by_the_worker_and_its_failure_is_shown(mine: Path) -> None:
    odf("schedule", "set", WEATHER, "0 6 * * *")
    assert odf("schedule", "run-now", WEATHER).code == 0
    ran = odf("worker", "--once", "--json")
    assert (ran.code, ran.json_lines()) == (0, [{"ready": True}])
    (found,) = listed()
    assert "gone-weather.csv is not there" in found["lastError"]
    assert (found["failures"], found["lastSuccessAt"], found["running"]) == (1, None, False)
    assert found["nextRunAt"] > found["lastRunAt"]
    assert "is not there" in odf("schedule", "list").lines[1]


def test_a_worker_with_nothing_to_do_does_nothing(mine: Path) -> None:
    odf("schedule", "set", WEATHER, "0 6 * * *")
    assert odf("worker", "--once").lines == ["ready"]
    assert listed()[0]["lastRunAt"] is None


def test_a_paused_schedule_has_no_next_run_until_it_is_resumed(mine: Path) -> None:
    odf("schedule", "set", WEATHER, "0 6 * * *")
    assert odf("schedule", "pause", WEATHER).lines == [f"{WEATHER}: paused"]
    assert (listed()[0]["paused"], listed()[0]["nextRunAt"]) == (True, None)
    assert "polled next at" in odf("schedule", "resume", WEATHER).lines[0]
    assert listed()[0]["paused"] is False


def test_a_removed_schedule_is_gone_also_when_its_dataset_is(mine: Path) -> None:
    odf("schedule", "set", WEATHER, "0 6 * * *")
    dataset_id = next(str(row["id"]) for row in odf("list", "--json").json() if row["name"] == WEATHER)  # type: ignore[attr-defined]
    for folder in mine.glob("*/refs"):
        shutil.rmtree(folder.parent)
    assert listed()[0]["dataset"] == dataset_id
    assert odf("schedule", "remove", dataset_id).code == 0
    assert listed() == []


def test_the_worker_ends_the_schedule_of_a_dataset_that_is_gone(mine: Path) -> None:
    odf("schedule", "set", WEATHER, "0 6 * * *")
    for folder in mine.glob("*/refs"):
        shutil.rmtree(folder.parent)
    assert odf("worker", "--once").lines == ["ready"]
    assert listed() == []


def test_what_cannot_be_is_refused(mine: Path) -> None:
    bad = {
        ("set", WEATHER, "often"): 3,
        ("set", WEATHER, "0 6 * * *", "--timezone", "Mars/Olympus"): 3,
        ("set", WEATHER, "0 6 * * *", "--jitter", "2d"): 3,
        ("set", WEATHER, "0 6 * * *", "--jitter", "soon"): 2,
        ("set", "us.faa.airports", "0 6 * * *"): 1,
        ("set", "nowhere", "0 6 * * *"): 4,
        ("run-now", "us.faa.airports"): 1,
        ("pause", WEATHER): 4,
        ("remove", WEATHER): 4,
    }
    assert {words: odf("schedule", *words).code for words in bad} == bad
    assert listed() == []


@pytest.mark.slow
@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "input"])
def test_a_worker_ends_when_it_is_told_to(mine: Path, end: str) -> None:
    command = [*WORKER, *(["--attached"] if end == "input" else [])]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        if end == "input":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, end))
        assert process.wait(20) == 0


@pytest.mark.slow
def test_a_job_of_a_worker_that_was_killed_is_held_until_its_lease_ends(mine: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        text = (SOURCES / "seattle-weather.yaml").read_text().replace(WEATHER, "silent")
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/weather.csv"
        (tmp_path / "silent.yaml").write_text(text.replace("file:///data/seattle-weather.csv", address))
        odf("add", tmp_path / "silent.yaml")
        odf("schedule", "set", "silent", "0 6 * * *")
        odf("schedule", "run-now", "silent")
        with subprocess.Popen(WORKER, cwd=ROOT, stdout=subprocess.PIPE) as process:
            silent.settimeout(30)
            waiting, _ = silent.accept()
            assert listed()[0]["running"]
            process.kill()
        waiting.close()
    assert listed()[0]["running"]
    assert odf("schedule", "run-now", "silent").code == 5


@pytest.mark.slow
@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_a_server_has_a_worker_once_something_is_scheduled_and_it_ends_with_the_server(mine: Path, end: str) -> None:
    odf("schedule", "set", WEATHER, "0 6 * * *")
    command = [sys.executable, "-m", "cli.main", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        wait_until(lambda: "running" in ready(address))
        (worker,) = children_of(server.pid)
        odf("schedule", "run-now", WEATHER)
        wait_until(lambda: "is not there" in str(listed()[0]["lastError"]))
        server.send_signal(getattr(signal, end))
    wait_until(lambda: not Path(f"/proc/{worker}").exists())


@pytest.mark.slow
def test_the_commands_of_the_how_to_poll_on_a_schedule(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands, _ = re.findall(r"^```sh\n(.*?)^```", HOW_TO.read_text(), re.MULTILINE | re.DOTALL)
    set_it, show_it, work = (shlex.split(line)[1:] for line in commands.splitlines())
    monkeypatch.chdir(mine.parent)
    mine.rename("my-repository")
    assert odf(*set_it).code == 0
    assert WEATHER in odf(*show_it).lines[1]
    assert odf(*work, "--once").lines == ["ready"]


def ready(address: str) -> str:
    """What the server says of itself."""
    with urllib.request.urlopen(f"{address}/system/ready") as answer:
        return str(answer.read())


def children_of(pid: int) -> list[str]:
    """Processes that a process started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what other processes bring about."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
