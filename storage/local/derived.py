"""Derived bytes as files in one folder that all processes share: bounded, never flushed, checked when read.

A file begins with a hash over its name and its bytes, so one that is cut off, damaged or misplaced is noticed and
removed. Its time says when it was last used. Losing the folder loses nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import LimitExceeded
from opendatafabric.limits import DERIVED_NAME_CHARS_MAX
from storage.derived import SEAL_BYTES, seal, unsealed
from storage.local import durable

_NAME: Final = re.compile(rf"[0-9a-z][0-9a-z-]{{0,{DERIVED_NAME_CHARS_MAX - 1}}}", re.ASCII)
_WRITTEN_WITHIN_S: Final = 3_600
"""A hidden file older than that was left by a process that ended."""


class LocalDerivedStore:
    """A DerivedStore of at most ``bytes_max`` bytes in ``folder``, which is made when it is needed."""

    def __init__(self, folder: Path, *, bytes_max: int) -> None:
        self._folder = folder
        self._bytes_max = bytes_max

    async def read(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._read, _checked(name))

    async def keep(self, name: str, data: bytes) -> None:
        if SEAL_BYTES + len(data) <= self._bytes_max:
            await asyncio.to_thread(self._keep, _checked(name), data)

    async def sweep(self, *, unused_for_s: float, now: float) -> int:
        """Remove what was not used for so long, and what interrupted writes left; how many files."""
        return await asyncio.to_thread(self._sweep, now - unused_for_s, now - _WRITTEN_WITHIN_S)

    # --- in a thread; a failing medium only means that nothing is kept

    def _read(self, name: str) -> bytes | None:
        with suppress(OSError, LimitExceeded), durable.opened_folder(self._folder) as folder:
            data = durable.read_file(folder, name, size_max=self._bytes_max)
            kept = unsealed(name, data)
            if kept is not None:
                os.utime(name, dir_fd=folder, follow_symlinks=False)
                return kept
            os.unlink(name, dir_fd=folder)
        return None

    def _keep(self, name: str, data: bytes) -> None:
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with durable.opened_folder(self._folder) as folder:
                self._write(folder, name, data)
                self._make_room(folder)

    def _write(self, folder: int, name: str, data: bytes) -> None:
        pending = durable.pending_name()
        with durable.removed_on_failure(folder, pending):
            with durable.opened(pending, durable.CREATE_FLAGS, folder) as descriptor:
                durable.write_all(descriptor, seal(name, data))
                durable.write_all(descriptor, data)
            os.rename(pending, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _make_room(self, folder: int) -> None:
        files = sorted(self._files(folder), reverse=True)
        room = self._bytes_max
        for _, size, name in files:
            room -= size
            if room < 0:
                durable.remove_quietly(folder, name)

    def _sweep(self, unused_since: float, written_since: float) -> int:
        removed = 0
        with suppress(OSError), durable.opened_folder(self._folder) as folder:
            for used, _, name in self._files(folder):
                if used < (written_since if durable.is_pending_name(name) else unused_since):
                    durable.remove_quietly(folder, name)
                    removed += 1
        return removed

    def _files(self, folder: int) -> list[tuple[float, int, str]]:
        found = []
        for name in os.listdir(folder):
            with suppress(FileNotFoundError):
                status = durable.plain_status(folder, name)
                found.append((status.st_mtime, status.st_size, name))
        return found


def _checked(name: str) -> str:
    assert _NAME.fullmatch(name), name
    return name
