"""A real IPFS node made of boxo, Kubo's own library, for tests: built by tools/boxo_node.sh where Go is.

Given a gateway it has nothing of its own and proves every block and record that it passes on.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.source_tree import ROOT


@pytest.fixture(scope="session")
def boxo_program() -> Path:
    """The node's program."""
    program = ROOT / ".tools" / "bin" / "odf-test-ipfsd"
    if not program.with_suffix(".sum").is_file():
        pytest.skip("the IPFS node made of boxo is not built: tools/boxo_node.sh says why")
    return program


@contextmanager
def running_boxo(program: Path, *arguments: str) -> Iterator[str]:
    """A node on a free port of loopback; the address of its gateway."""
    with subprocess.Popen([str(program), *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield json.loads(line)["gateway"]
        finally:
            process.terminate()
