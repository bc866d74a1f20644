"""The processes of one engine: Python, its JVM and whatever they start, all in one group. Linux's ``/proc`` is read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_GROUP, _RESIDENT_PAGES = 2, 21
"""Fields of ``/proc/<pid>/stat``, counted behind the name of the program."""


def resident_bytes(group: int) -> int:
    """Memory that the group holds; pages that processes share count for each."""
    return sum(int(fields[_RESIDENT_PAGES]) * _PAGE_BYTES for fields in _stats() if int(fields[_GROUP]) == group)


def kill_group(group: int) -> None:
    """End every process of it at once."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _stats() -> Iterator[list[bytes]]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                yield (process / "stat").read_bytes().rpartition(b")")[2].split()
