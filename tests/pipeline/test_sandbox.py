"""The sandbox: each forbidden thing is done in a process of its own, with the sandbox and, so that it means something,
without it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sandbox import landlock_version
from tests.source_tree import ROOT

ENTERING = """
import sys
from pathlib import Path
from pipeline.sandbox import enter_sandbox
place = Path(sys.argv[1])
if sys.argv[2] == "walled":
    readable = [Path(sys.prefix), Path(sys.base_prefix), Path.cwd(), place / "in"]
    assert enter_sandbox(readable=readable, writable=[place / "out"])
"""
FORBIDDEN = {
    "reading files of the user": "(place / 'secret').read_text()",
    "listing folders": "list(place.iterdir())",
    "reading shadow": "open('/etc/shadow').read()",
    "writing to what is given": "(place / 'in' / 'given').write_text('changed')",
    "removing what is given": "(place / 'in' / 'given').unlink()",
    "a second name for what is given": "__import__('os').link(place / 'in' / 'given', place / 'out' / 'given')",
    "writing elsewhere": "(place / 'elsewhere').write_text('x')",
    "running what it wrote": """
import subprocess
program = place / 'out' / 'program'
program.write_text('#!/bin/sh\\nexit 0\\n')
program.chmod(0o755)
subprocess.run([program], check=True)""",
    "talking to a server of this machine": "__import__('socket').create_connection(('127.0.0.1', int(sys.argv[3])), 2)",
    "reading the environment of another process": "print(open(f'/proc/{sys.argv[4]}/environ').read())",
    "sending a signal to another process": "__import__('os').kill(int(sys.argv[4]), 0)",
}
ALLOWED = {
    "reading what is given": "assert (place / 'in' / 'given').read_text() == 'given'",
    "writing what it makes": "(place / 'out' / 'made').write_text('made')",
    "talking to itself": """
import socket
with socket.create_server(('127.0.0.1', 0)) as server:
    socket.create_connection(server.getsockname(), 2).close()""",
    "starting programs of the system": "__import__('subprocess').run(['/bin/true'], check=True)",
    "making a file in its own folder and renaming it": """
(place / 'out' / 'a').write_text('x')
(place / 'out' / 'a').rename(place / 'out' / 'b')""",
}

pytestmark = pytest.mark.skipif(
    landlock_version() == 0 or subprocess.run(["unshare", "-Urn", "true"], check=False).returncode != 0,
    reason="this kernel has no Landlock or allows no user namespaces",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "given").write_text("given")
    (tmp_path / "secret").write_text("secret")
    return tmp_path


@pytest.fixture
def server_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def bystander() -> Iterator[int]:
    """Another process of the same user, with a secret in its environment."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env={"SECRET": "x"}) as process:
        yield process.pid


def attempt(place: Path, walls: str, code: str, port: int = 0, process: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ENTERING + code, str(place), walls, str(port), str(process)]
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_what_is_forbidden_fails_inside_and_succeeds_outside(
    place: Path, server_port: int, bystander: int, what: str
) -> None:
    inside = attempt(place, "walled", FORBIDDEN[what], server_port, bystander)
    assert inside.returncode != 0
    assert "Error" in inside.stderr
    assert "AssertionError" not in inside.stderr
    outside = attempt(place, "open", FORBIDDEN[what], server_port, bystander)
    assert outside.returncode == 0, outside.stderr


@pytest.mark.parametrize("what", ALLOWED)
def test_what_a_job_needs_works_inside(place: Path, what: str) -> None:
    inside = attempt(place, "walled", ALLOWED[what])
    assert inside.returncode == 0, inside.stderr


def test_no_crash_leaves_a_core_and_no_file_grows_without_end(place: Path) -> None:
    code = (
        "import resource; print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_FSIZE)[0])"
    )
    told = attempt(place, "walled", code).stdout.split()
    assert told[:2] == ["(0,", "0)"]
    assert int(told[2]) > 0


def test_where_there_is_no_landlock_the_sandbox_says_so(place: Path) -> None:
    code = """
import pipeline.sandbox as sandbox
sandbox._libc = type("Old", (), {"syscall": lambda *_: -1, "unshare": lambda *_: -1})()
assert not enter_sandbox(readable=[], writable=[])
print("open")"""
    assert attempt(place, "open", code).stdout == "open\n"
