"""The client is installed from its own wheels, and works without anything of the repository."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.source_tree import ROOT

DATASET = ROOT / "examples" / "datasets" / "us.faa.airports"
OF_THE_REPOSITORY = (
    "sqlalchemy",
    "alembic",
    "typer",
    "rich",
    "jinja2",
    "argon2",
    "catalog",
    "pipeline",
    "repo_server",
    "cli",
)
USE = f"""
import json, sys
import odf_client
dataset = odf_client.open({str(DATASET)!r})
found = [dataset.to_arrow(projected=True).num_rows, odf_client.__file__]
loaded = [name for name in {OF_THE_REPOSITORY!r} if name in sys.modules]
print(json.dumps(found + [loaded]))
"""


def uv(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "uv"), "--quiet", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def installed(folder: Path) -> Path:
    """A fresh environment with the wheels of the client and of what it stands on, and nothing else; its Python."""
    for name in ("core", "client"):
        done = uv(
            "build",
            "--wheel",
            "--no-build-isolation",
            "--python",
            sys.executable,
            "--out-dir",
            folder,
            ROOT / "distributions" / name,
        )
        assert done.returncode == 0, done.stderr
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    done = uv("pip", "install", "--offline", "--no-index", "--no-deps", "--python", python, *folder.glob("*.whl"))
    assert done.returncode == 0, done.stderr
    return python


def use(python: Path) -> list[object]:
    done = subprocess.run([python, "-I", "-c", USE], capture_output=True, text=True, check=False, cwd=python.parent)
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_its_wheels_work_beside_the_libraries_that_are_here(tmp_path: Path) -> None:
    python = installed(tmp_path)
    (packages,) = (tmp_path / "venv" / "lib").glob("*/site-packages")
    here = Path(json.__file__).parents[1]
    libraries = next(path for path in map(Path, sys.path) if path.name == "site-packages" and path != here)
    (packages / "libraries.pth").write_text(f"{libraries}\n")
    count, place, loaded = use(python)
    assert (count, loaded) == (500, [])
    assert str(place).startswith(str(packages))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_its_lock_is_all_that_it_needs(tmp_path: Path) -> None:
    python = installed(tmp_path)
    done = uv("pip", "install", "--python", python, "--require-hashes", "-r", ROOT / "requirements" / "client.txt")
    if done.returncode != 0:
        pytest.skip(f"the libraries of the client are not to be had, is there a network? {done.stderr[-500:]}")
    assert use(python)[0] == 500
    missing = subprocess.run([python, "-I", "-c", "import sqlalchemy"], capture_output=True, check=False)
    assert missing.returncode != 0
