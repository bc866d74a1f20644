"""A stand-in for ``os`` in the modules that write: counts every call that changes or reads a file, and strikes at one.

Striking is either an error of the system or the end of the process. A call that closes always closes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from storage import folder_changes
from storage.local import durable, leases, objects, pending, quarantine_files, refs

COUNTED = {
    *("open", "close", "read", "pread", "write", "fsync", "fdatasync", "rename", "link", "unlink", "mkdir"),
    *("stat", "fstat", "listdir"),
}
CHANGING = {"write", "fsync", "fdatasync", "rename", "link", "unlink", "mkdir"}
"""Being killed before any other call is being killed before the next one of these."""

WRITERS = {"write", "open", "mkdir", "link", "rename"}
"""Calls that a full disk can fail."""

Strike = Callable[[str], None]


class FaultyOs:
    """``os`` with call number ``strike_at`` (from 1) struck."""

    def __init__(self, strike_at: int, strike: Strike, counted: Set[str] = COUNTED) -> None:
        self.calls: list[str] = []
        self._strike_at, self._strike, self._those = strike_at, strike, counted

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._counted(name, real) if name in COUNTED else real

    def for_notes(self) -> NotesOs:
        """The same for calls about leases, which die with their process and need not be durable."""
        return NotesOs(self)

    def flush_file_system(self, real: Callable[[int], None]) -> Callable[[int], None]:
        return self._counted("syncfs", real)  # type: ignore[no-any-return]

    def _counted(self, name: str, real: Callable[..., Any], *, about: str = "") -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            counts = name in self._those or name == "syncfs"
            self.calls.extend([about + name] * counts)
            struck = counts and len(self.calls) == self._strike_at
            if struck and name != "close":
                self._strike(name)
            result = real(*arguments, **keywords)
            if struck and name == "close":
                self._strike(name)
            return result

        return call


class NotesOs:
    """``os`` for the module of leases; its calls are told as ``note …``."""

    def __init__(self, faulty: FaultyOs) -> None:
        self._faulty = faulty

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._faulty._counted(name, real, about="note ") if name in COUNTED else real


@contextmanager
def installed(faulty: FaultyOs, *others: ModuleType) -> Iterator[None]:
    """Let the stores run on ``faulty``, and ``others`` that write."""
    modules = (durable, objects, pending, quarantine_files, refs, folder_changes, *others)
    real_flush = durable.flush_file_system
    try:
        for module in modules:
            vars(module)["os"] = faulty
        vars(leases)["os"] = faulty.for_notes()
        vars(durable)["flush_file_system"] = faulty.flush_file_system(real_flush)
        yield
    finally:
        for module in (*modules, leases):
            vars(module)["os"] = os
        vars(durable)["flush_file_system"] = real_flush


def input_output_error(name: str) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO), name)


def disk_full(name: str) -> None:
    if name in WRITERS:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)


def end_of_process(_: str) -> None:
    os.kill(os.getpid(), 9)
