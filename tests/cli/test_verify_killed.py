"""A verification of a large dataset that is killed: no process stays, and the next run goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opendatafabric.layout import block_key, checkpoint_key
from opendatafabric.metadata.events import AddData
from opendatafabric.metadata.slices import Checkpoint
from opendatafabric.multihash import Hasher, Multihash
from tests.source_tree import ROOT
from tests.verify.damage import Made, moment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COUNT, SIZE = 32, 16 * 1024 * 1024
DEADLINE_S = 120.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of half a GiB of checkpoints, which are holes for the most part."""
    made, folder = Made.root(), tmp_path / "large"
    for name in ("blocks", "checkpoints", "refs"):
        (folder / name).mkdir(parents=True)
    left: Multihash | None = None
    for number in range(COUNT):
        name = sparse_file(folder, number)
        event = AddData(new_checkpoint=Checkpoint(name, SIZE), prev_checkpoint=left, new_watermark=moment(number + 1))
        made.add(event)
        left = name
    for key, raw in made.objects.objects.items():
        (folder / key).write_bytes(raw)
    assert block_key(made.refs.heads["head"]) in made.objects.objects
    (folder / "refs" / "head").write_text(str(made.refs.heads["head"]))
    return folder


def sparse_file(folder: Path, number: int) -> Multihash:
    """An object of ``SIZE`` bytes, of which the first says its number."""
    hasher, begin = Hasher(), bytes([number])
    hasher.update(begin)
    hasher.update(bytes(SIZE - 1))
    path = folder / checkpoint_key(hasher.finish())
    path.write_bytes(begin)
    os.truncate(path, SIZE)
    return hasher.finish()


def wait_until(holds: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < give_up_at, "it did not come about"
        time.sleep(0.002)


def verification(folder: Path, home: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cli.main", "verify", "--integrity-only", str(folder), "--json"]
    environment = {**os.environ, "HOME": str(home)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, start_new_session=True)


def processes_of(session: int) -> list[int]:
    """Those that a run started, whoever their parent is by now; ended ones do not count."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state not in "ZX":
            found.append(int(entry.name))
    return found


def test_a_killed_run_leaves_no_process_and_the_next_one_goes_on(folder: Path, tmp_path: Path) -> None:
    notes = tmp_path / ".cache" / "odf" / "verify"
    with verification(folder, tmp_path) as killed:
        wait_until(lambda: any(file.stat().st_size for file in notes.glob("*")) or killed.poll() is not None)
        killed.send_signal(signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    wait_until(lambda: not processes_of(killed.pid))
    noted = len(next(notes.iterdir()).read_text().splitlines())
    with verification(folder, tmp_path) as again:
        assert again.stdout is not None
        report = json.loads(again.stdout.read())
    assert (report["verdict"], report["counts"]["objects"]) == ("valid", COUNT), report
    assert 1 <= noted <= report["counts"]["provedBefore"] + 1
    assert report["counts"]["objectBytes"] == (COUNT - report["counts"]["provedBefore"]) * SIZE
    assert not list(notes.iterdir())
    wait_until(lambda: not processes_of(again.pid))
