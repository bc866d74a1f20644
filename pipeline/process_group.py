"""The processes of one engine: Python, its JVM and whatever they start, all in one group. Linux's ``/proc`` is read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_PARENT, _GROUP, _RESIDENT_PAGES = 1, 2, 21
"""Fields of ``/proc/<pid>/stat``, counted behind the name of the program."""


@dataclass(frozen=True, slots=True)
class _Process:
    id: int
    parent: int
    group: int
    resident_bytes: int


def resident_bytes(group: int) -> int:
    """Memory that the group holds, with processes that left it; pages that processes share count for each."""
    return sum(each.resident_bytes for each in _family(group))


def kill_group(group: int) -> None:
    """End every process of it at once."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _family(group: int) -> list[_Process]:
    """The group and all that it started, as long as who started them lives or was adopted by the family."""
    others = {process.id: process for process in _processes()}
    found: list[_Process] = []
    new = [process for process in others.values() if process.group == group]
    while new:
        found += new
        parents = {others.pop(process.id).id for process in new}
        new = [process for process in others.values() if process.parent in parents]
    return found


def _processes() -> Iterator[_Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                pages = int(fields[_RESIDENT_PAGES])
                yield _Process(int(folder.name), int(fields[_PARENT]), int(fields[_GROUP]), pages * _PAGE_BYTES)
