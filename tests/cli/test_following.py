"""A server whose derivatives follow their inputs: data are sent to the root, and nobody has to think of the rest."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.cli.test_two_workers import wait_until
from tests.cli.workers import own_worker
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

AIRPORTS, ALASKA, NAMES = "us.faa.airports", "airports.of.alaska", "names.of.alaska"
DERIVED = """
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{{datasetRef: {of}, alias: given}}]
      transform: {{kind: Sql, engine: datafusion, query: "{query}"}}
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Airports, those of Alaska, and the names of those."""
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    odf("init", tmp_path / "mine")
    here = "select op, event_time, iata, name from given where state = 'AK'"
    names = "select op, event_time, upper(name) as name from given"
    for name, of, query in ((ALASKA, AIRPORTS, here), (NAMES, ALASKA, names)):
        (tmp_path / f"{name}.yaml").write_text(DERIVED.format(name=name, of=of, query=query))
    files = [ROOT / "examples/sources/airports.yaml", tmp_path / f"{ALASKA}.yaml", tmp_path / f"{NAMES}.yaml"]
    assert odf("add", *files).code == 0
    with own_worker(tmp_path / "spark"):
        yield tmp_path


@contextmanager
def server() -> Iterator[str]:
    """With a worker of its own; its address."""
    command = [sys.executable, "-m", "cli.main", "serve", "--port", "0", "--tenancy", "single", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.send_signal(signal.SIGTERM)


def test_what_is_sent_to_a_root_goes_through_a_chain_of_derivatives_which_are_verified(mine: Path) -> None:
    token = odf("token", "create", "default").lines[0]
    for name in (NAMES, ALASKA):
        odf("schedule", "set", name, "--on-change")
    odf("schedule", "set", NAMES, "--on-change", "--verify")
    with server() as address:
        send(f"{address}/{AIRPORTS}/ingest", token, ROOT / "examples/sources/airports-1.csv")
        wait_until(lambda: verdict().get("records", 0) > 0)
        first = verdict()["records"]
        send(f"{address}/{AIRPORTS}/ingest", token, ROOT / "examples/sources/airports-2.csv")
        wait_until(lambda: verdict().get("records", 0) > first)
    assert verdict()["verdict"] == "valid"
    assert [each["failures"] for each in odf("schedule", "list", "--json").json()] == [0, 0, 0]  # type: ignore[attr-defined]


def verdict() -> dict[str, Any]:
    """What the last verification said."""
    found = json.loads(odf("schedule", "list", "--json").stdout)
    return next(each["lastOutcome"] for each in found if each["job"] == "verify") or {}


def send(url: str, token: str, file: Path) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
    with urllib.request.urlopen(urllib.request.Request(url, file.read_bytes(), headers)) as answer:
        assert answer.status == 200
