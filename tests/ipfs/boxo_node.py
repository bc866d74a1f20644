"""A real IPFS node made of boxo, Kubo's own library, for tests: built by tools/boxo_node.sh where Go is.

Given a gateway it has nothing of its own and proves every block and record that it passes on.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.source_tree import ROOT


@pytest.fixture(scope="session")
def boxo_program() -> Path:
    """The node's program."""
    if shutil.which("go") is None:
        pytest.skip("no go on PATH: the IPFS node made of boxo cannot be built")
    with (ROOT / "tests" / "ipfs" / "boxo" / "go.sum").open() as lock:  # several test processes start at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = subprocess.run([str(ROOT / "tools" / "boxo_node.sh")], check=True, capture_output=True, text=True)
    return Path(built.stdout.strip())


@contextmanager
def running_boxo(program: Path, *arguments: str) -> Iterator[str]:
    """A node on a free port of loopback; the address of its gateway."""
    with subprocess.Popen([str(program), *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield json.loads(line)["gateway"]
        finally:
            process.terminate()
