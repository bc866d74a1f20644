"""kill -9 at every call of the system: absent or complete, never torn, and the deed can be repeated."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import deeds
from tests.faults.chores import CHORES, Chore
from tests.faults.deeds import DEEDS, Deed

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent.parent.parent
SYSCALLS = ["write", "fsync", "fdatasync", "syncfs", "renameat", "linkat", "unlinkat"]


def killed_at_every_call(folder: Path, name: str, killer: str = "killer") -> int:
    """How many calls there were."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{killer}", str(folder), name],
        cwd=PROJECT, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_a_process_killed_at_any_call_leaves_the_old_or_the_new_state(tmp_path: Path, deed: Deed) -> None:
    assert killed_at_every_call(tmp_path, deed.name) > 5


@pytest.mark.timeout(300)
@pytest.mark.parametrize("chore", CHORES, ids=lambda chore: chore.name)
def test_keeping_a_repository_may_be_killed_at_any_call_and_repeated(tmp_path: Path, chore: Chore) -> None:
    assert killed_at_every_call(tmp_path, chore.name) > 50


@pytest.mark.timeout(500)
@pytest.mark.parametrize("name", ["push", "poll"])
def test_an_ingest_killed_at_any_call_and_repeated_is_one_block(tmp_path: Path, name: str) -> None:
    assert killed_at_every_call(tmp_path, name, "ingest_killer") > 20


@pytest.mark.timeout(500)
def test_a_step_with_a_checkpoint_killed_at_any_call_and_repeated_is_one_block(tmp_path: Path) -> None:
    assert killed_at_every_call(tmp_path, "derive", "derive_killer") > 20


@pytest.mark.timeout(500)
def test_a_step_of_a_derivative_killed_at_any_call_and_repeated_is_one_block(tmp_path: Path) -> None:
    assert killed_at_every_call(tmp_path, "step", "step_killer") > 20


@pytest.mark.parametrize(
    "syscall", ["openat", "write", "fsync", "fdatasync", "syncfs", "rename", "renameat", "unlinkat"]
)
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_a_process_killed_by_the_kernel_at_any_call_leaves_the_old_or_the_new_state(
    tmp_path: Path, deed: Deed, syscall: str
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: apt-get install strace")
    program = "import sys; from pathlib import Path; from tests.faults import deeds; "
    program += "print('ready', flush=True); "
    program += f"deeds.run(next(d for d in deeds.DEEDS if d.name == {deed.name!r}), Path(sys.argv[1]))"
    missed = 0
    for when in range(1, 200):
        root = tmp_path / str(when)
        before = deeds.prepare(root)
        done = subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(root), *_paths(root), "-e", f"trace={syscall}",
             "-e", f"inject={syscall}:signal=KILL:when={when}", sys.executable, "-c", program, str(root)],
            cwd=PROJECT, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert deeds.is_old_or_new(deed, before, deeds.state(root)), when
        missed = missed + 1 if done.returncode == 0 else 0
        if missed:
            return
    raise AssertionError("the process never ran to its end")


def _paths(root: Path) -> list[str]:
    return [part for folder in ("blocks", "data", "refs", "info") for part in ("-P", str(root / folder))]
