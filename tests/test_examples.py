"""The examples run, and print what they promise."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.source_tree import ROOT

EXAMPLES = {
    "01_read_a_block.py": "kind: MetadataBlock",
    "02_walk_a_chain.py": "1461 records",
    "03_hash_records.py": "logical: ",
    "04_find_a_flipped_bit.py": "invalid",
    "05_read_records.py": "500 airports as of what is known now",
}


def test_every_numbered_example_is_run_here() -> None:
    assert {path.name for path in (ROOT / "examples").glob("[0-9]*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_prints_its_point(name: str) -> None:
    script = ROOT / "examples" / name
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert EXAMPLES[name] in done.stdout


def test_records_stored_in_another_way_have_the_same_logical_hash() -> None:
    command = [sys.executable, ROOT / "examples" / "03_hash_records.py"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for line in lines:
        first, _, second = line.split(":")[1].split()
        assert (first == second) == line.startswith("logical")
