"""An append of four times the rows does not take four times the memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import ROOT

ROWS = 400_000
SLACK_BYTES = 40_000_000
"""What allocators and threads take this time and not that time."""


def peak_bytes(folder: Path, form: str, rows: int, how: str) -> int:
    """Of an append in a process of its own."""
    command = [sys.executable, "-m", "tests.pipeline.peak_memory", str(folder), form, str(rows), how]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "how"),
    [
        ("csv", "plain"),
        ("csv", "queried"),
        ("csv", "unordered"),
        ("ndjson", "plain"),
        ("parquet", "plain"),
        ("parquet", "unordered"),
    ],
)
def test_four_times_the_rows_take_no_four_times_the_memory(tmp_path: Path, form: str, how: str) -> None:
    once = peak_bytes(tmp_path, form, ROWS, how)
    assert peak_bytes(tmp_path, form, 4 * ROWS, how) < 1.5 * once + SLACK_BYTES
