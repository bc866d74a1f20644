"""Groups of processes: their memory and their end."""

from __future__ import annotations

import os
import subprocess
import sys

from pipeline.process_group import kill_group, resident_bytes

FAMILY = """
import subprocess, sys
held = b"x" * 50_000_000
child = "held = b'y' * 50_000_000; print(1, flush=True); input()"
subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE).wait()
"""


def test_a_group_is_counted_and_ended_as_a_whole() -> None:
    command = [sys.executable, "-c", FAMILY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as family:
        assert family.stdout is not None
        assert family.stdout.readline() == b"1\n"
        assert 100_000_000 < resident_bytes(family.pid) < 400_000_000
        kill_group(family.pid)
        assert family.stdout.read() == b""
        assert family.wait() == -9
    assert resident_bytes(family.pid) == 0


def test_a_group_that_is_gone_is_no_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as family:
        family.wait()
    kill_group(family.pid)


def test_our_own_group_has_us_in_it() -> None:
    assert resident_bytes(os.getpgrp()) > 1_000_000
