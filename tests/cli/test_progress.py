"""Bars are for terminals; what they say is for people."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cli.progress import amounts, progress_bars, rate
from tests.cli.runner import odf
from tests.source_tree import ROOT

AIRPORTS = ROOT / "examples" / "datasets" / "us.faa.airports"


@pytest.mark.parametrize(
    ("label", "done", "total", "text"),
    [("blocks", 3, 7, "3 of 7"), ("blocks", 3, None, "3"), ("bytes", 1536, 2048, "1.5 KiB of 2.0 KiB")],
)
def test_amounts_are_written_for_people(label: str, done: int, total: int | None, text: str) -> None:
    assert amounts(label, done, total) == text


@pytest.mark.parametrize(("label", "per_s", "text"), [("read", 1200.7, "1,200/s"), ("bytes", 1536, "1.5 KiB/s")])
def test_rates_are_written_for_people(label: str, per_s: float, text: str) -> None:
    assert rate(label, per_s) == text


def test_nothing_is_drawn_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bars() as advance:
        advance("blocks", 1, 2)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.slow
def test_a_terminal_sees_bars_on_stderr_and_a_clean_stdout(tmp_path: Path) -> None:
    odf("init", tmp_path / "mine")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cli.main", "pull", "--repo", str(tmp_path / "mine"), str(AIRPORTS)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.close(theirs)
    drawn = os.read(ours, 65536).decode(errors="replace")
    os.close(ours)
    assert "objects" in drawn
    assert done.stdout.startswith("us.faa.airports: 7 blocks")
    assert "\x1b" not in done.stdout


def test_what_is_printed_meanwhile_goes_into_the_pipe_and_not_to_the_terminal() -> None:
    program = """
from cli.progress import progress_bars
with progress_bars() as advance:
    advance("read", 3, None)
    print("a result")
"""
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    drawn = os.read(ours, 65536).decode(errors="replace")
    os.close(ours)
    assert done.stdout == b"a result\n"
    assert "read" in drawn
    assert "a result" not in drawn
