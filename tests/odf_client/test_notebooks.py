"""The notebooks run from top to bottom against a server, and are kept without what came out of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.conftest import ExampleServer
from tests.source_tree import ROOT, text_of

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
LISTED = {"examples/us.noaa.seattle-weather", "examples/us.faa.airports"}


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code_cells(path))


def test_make_notebook_runs_the_program_that_is_run_here() -> None:
    assert "$(PY) examples/notebooks/run.py --repo http://$(HOST):$(PORT)" in text_of(Path("Makefile"))


@pytest.fixture
def listed(example_server: ExampleServer) -> ExampleServer:
    """The server, when its lists know the datasets that it began with."""
    ends_at = time.monotonic() + 60
    found: set[str] = set()
    while not found >= LISTED and time.monotonic() < ends_at:
        with urllib.request.urlopen(f"{example_server.address}/") as response:
            found = {each["alias"] for each in json.load(response)["datasets"]}
    return example_server


def run(server: ExampleServer, folder: Path, *words: str, **environment: str) -> list[str]:
    """What the program prints; outputs of all cells."""
    command = [
        sys.executable,
        "examples/notebooks/run.py",
        "--repo",
        server.address,
        "--out",
        str(folder / "out"),
        *words,
    ]
    kept = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config"), **environment}
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **kept}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (folder / "out").glob("*.ipynb")
    return [json.dumps(cell["outputs"]) for cell in code_cells(path)]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_notebook_of_the_tutorial_runs(listed: ExampleServer, tmp_path: Path) -> None:
    outputs = "\n".join(run(listed, tmp_path))
    for expected in ("Daily weather observations in Seattle", "500 airports now", "did:key:z6Mk", "HashMismatch"):
        assert expected in outputs


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_notebook_that_puts_records_in_runs(listed: ExampleServer, tmp_path: Path) -> None:
    token = odf("token", "create", "alice", "--repo", listed.var / "repository").stdout.decode().split()[-1]
    outputs = run(listed, tmp_path, "2-put-records-in", ODF_TOKEN=token)
    assert "appended=6" in "\n".join(outputs)
    assert "head-moved" in outputs[-1]
    assert token not in "\n".join(outputs)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_notebook_that_fails_says_where(tmp_path: Path) -> None:
    command = [sys.executable, "examples/notebooks/run.py", "--repo", "http://127.0.0.1:1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "1-find-look-ask" in done.stderr
