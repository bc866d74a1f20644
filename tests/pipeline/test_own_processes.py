"""What a process started ends with it, even what left its group and its session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.process_group import kill_group, resident_bytes
from tests.source_tree import ROOT

ENTERING = """
import os, sys
from pathlib import Path
from pipeline.own_processes import keep_own_processes
from pipeline.sandbox import enter_sandbox
enter_sandbox(readable=[Path(sys.prefix), Path(sys.base_prefix), Path.cwd()], writable=[])
if sys.argv[1] == "own":
    assert keep_own_processes()
"""
LEAVING = """
import subprocess
child = "import os; held = b'x' * 80_000_000; print(os.path.realpath('/proc/self'), flush=True); input()"
if os.fork() == 0:
    subprocess.Popen([sys.executable, "-c", child], start_new_session=True, stdin=subprocess.PIPE).wait()
    os._exit(0)
os.wait()
"""

pytestmark = pytest.mark.skipif(
    subprocess.run(["unshare", "-Urp", "--fork", "true"], check=False).returncode != 0,
    reason="this kernel allows no user namespaces",
)


def started(code: str, how: str = "own") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", ENTERING + code, how]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def is_gone(process: int, *, soon: bool) -> bool:
    """Whether the kernel has taken everything from it; what is to go ``soon`` gets the time to."""
    deadline = time.monotonic() + (60 if soon else 0)
    while True:
        try:
            if b") Z " in Path(f"/proc/{process}/stat").read_bytes():
                return True
        except FileNotFoundError:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["own", "shared"])
def test_what_left_its_group_is_counted_and_ends_with_a_namespace_only(how: str) -> None:
    with started(LEAVING, how) as engine:
        assert engine.stdout is not None
        escaped = int(Path(engine.stdout.readline().decode().strip()).name)
        assert os.getpgid(escaped) != engine.pid
        assert resident_bytes(engine.pid) > 80_000_000
        kill_group(engine.pid)
        engine.wait()
        assert is_gone(escaped, soon=how == "own") == (how == "own")
        if how == "shared":
            os.kill(escaped, signal.SIGKILL)


@pytest.mark.parametrize(
    ("code", "ended"),
    [("", 0), ("sys.exit(7)", 7), ("raise ValueError", 1)],
    ids=["well", "with a code", "by an error"],
)
def test_who_waits_ends_as_the_process_did(code: str, ended: int) -> None:
    with started(code) as engine:
        assert engine.wait() == ended


STAYING = "print(os.path.realpath('/proc/self'), flush=True)\nimport time\ntime.sleep(600)"


def test_who_waits_ends_by_the_signal_that_ended_the_process() -> None:
    with started(STAYING) as engine:
        assert engine.stdout is not None
        os.kill(int(Path(engine.stdout.readline().decode().strip()).name), signal.SIGKILL)
        assert engine.wait() == -signal.SIGKILL


def test_who_waits_takes_it_along() -> None:
    with started(STAYING) as engine:
        assert engine.stdout is not None
        inner = int(Path(engine.stdout.readline().decode().strip()).name)
        assert inner != engine.pid
        os.kill(engine.pid, signal.SIGKILL)
        assert is_gone(inner, soon=True)


def test_where_the_kernel_refuses_all_is_as_before() -> None:
    code = """
import pipeline.own_processes as own
own._libc = type("Old", (), {"unshare": lambda *_: -1})()
assert not own.keep_own_processes()
print("as before", flush=True)"""
    with started(code, "shared") as engine:
        assert engine.stdout is not None
        assert engine.stdout.read() == b"as before\n"
