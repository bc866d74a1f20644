"""Two workers over one catalog, one of them killed in the middle of a job: the other one finishes it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.cli.workers import own_worker
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

SOURCES = ROOT / "examples" / "sources"
WORKER = (sys.executable, "-m", "cli.main", "worker")


@pytest.fixture
def source() -> Iterator[socket.socket]:
    """A server that says nothing unless the test does."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        yield silent


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: socket.socket) -> Iterator[Path]:
    """A repository with a dataset that is polled there; workers that die are replaced soon."""
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    monkeypatch.setenv("ODF_JOB_LEASE_S", "2")
    odf("init", tmp_path / "mine")
    address = f"http://127.0.0.1:{source.getsockname()[1]}/weather.csv"
    text = (SOURCES / "seattle-weather.yaml").read_text().replace("file:///data/seattle-weather.csv", address)
    (tmp_path / "weather.yaml").write_text(text)
    assert odf("add", tmp_path / "weather.yaml").code == 0
    with own_worker(tmp_path / "spark"):
        yield tmp_path / "mine"


@contextlib.contextmanager
def worker() -> Iterator[subprocess.Popen[str]]:
    """One that is ready."""
    with subprocess.Popen(WORKER, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


def test_the_job_of_a_killed_worker_is_finished_by_another(mine: Path, source: socket.socket) -> None:
    with worker() as first:
        odf("schedule", "set", "us.noaa.seattle-weather", "0 0 1 1 *")
        odf("schedule", "run-now", "us.noaa.seattle-weather")
        asked, _ = source.accept()
        assert listed()["running"]
        with worker():
            first.kill()
            asked.close()
            asked_again, _ = source.accept()
            answer(asked_again, (SOURCES / "seattle-weather.csv").read_bytes())
            wait_until(lambda: listed()["lastSuccessAt"] is not None)
    found = listed()
    assert (found["lastOutcome"]["appended"], found["failures"], found["running"]) == (1461, 0, False)
    assert odf("verify", "us.noaa.seattle-weather").code == 0


def answer(asked: socket.socket, body: bytes) -> None:
    with asked:
        request = b""
        while b"\r\n\r\n" not in request:
            request += asked.recv(65_536)
        asked.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)


def listed() -> dict[str, Any]:
    """The one schedule."""
    (found,) = json.loads(odf("schedule", "list", "--json").stdout)
    return dict(found)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what other processes bring about."""
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
