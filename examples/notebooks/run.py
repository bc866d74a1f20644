"""Runs the notebooks from top to bottom against a repository, and keeps them with what came out.

Run it: python examples/notebooks/run.py [--repo URL] [--out DIR] [NAME…]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

NOTEBOOKS = Path(__file__).resolve().parent
READING = ("1-find-look-ask",)
"""Those that need no token."""


def run(name: str, out: Path) -> None:
    """One notebook; what fails in it ends the program."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    target = out / f"{name}.ipynb"
    over_files = Config({"AsyncKernelManager": {"transport": "ipc"}})
    try:
        NotebookClient(notebook, kernel_name="python3", timeout=300, config=over_files).execute()
    except CellExecutionError as error:
        sys.exit(f"{name}: {error}")
    finally:
        nbformat.write(notebook, target)
    print(f"{name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells ran, see {target}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=READING)
    parser.add_argument("--repo", default="http://127.0.0.1:8080")
    parser.add_argument("--out", type=Path, default=Path("var/notebooks"))
    chosen = parser.parse_args()
    os.environ["ODF_REPO"] = chosen.repo
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in chosen.names:
        run(name, chosen.out)


if __name__ == "__main__":
    main()
