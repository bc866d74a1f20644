"""Large derived files in one folder that all processes share: bounded, whole once they have a name, sent from disk.

They can be made again, and are called by what they were made from. Their time says when they were last used.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from storage.local import durable


class LargeDerivedFiles:
    """Files of at most ``bytes_max`` bytes together in ``folder``, which is made when it is needed."""

    def __init__(self, folder: Path, *, bytes_max: int) -> None:
        self._folder, self._bytes_max = folder, bytes_max

    async def find(self, name: str) -> Path | None:
        """Where the file lies, if it was kept; it counts as used now."""
        return await asyncio.to_thread(self._find, name)

    async def keep(self, name: str, made: BinaryIO) -> Path:
        """Keep what ``made`` holds, which may have no name yet; others go that were used longest ago.

        Raises:
            StorageFull, StorageError: it cannot be kept.
        """
        return await asyncio.to_thread(self._keep, name, made)

    async def sweep(self, *, unused_for_s: float, now: float) -> int:
        """Remove what was not used for so long; how many files."""
        return await asyncio.to_thread(self._sweep, now - unused_for_s)

    def _find(self, name: str) -> Path | None:
        path = self._folder / name
        try:
            os.utime(path, follow_symlinks=False)
        except OSError:
            return None
        return path

    def _keep(self, name: str, made: BinaryIO) -> Path:
        path = self._folder / name
        with durable.translated(f"keep {name}"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.fsync(made.fileno())
            pending = self._folder / durable.pending_name()
            try:
                _name(made, pending)
                pending.replace(path)
            finally:
                pending.unlink(missing_ok=True)
        self._make_room(path)
        return path

    def _make_room(self, newest: Path) -> None:
        room = self._bytes_max
        for _, size, path in sorted(self._files(), reverse=True):
            room -= size
            if room < 0 and path != newest:
                with suppress(OSError):
                    path.unlink()

    def _sweep(self, unused_since: float) -> int:
        old = [path for used, _, path in self._files() if used < unused_since]
        for path in old:
            with suppress(OSError):
                path.unlink()
        return len(old)

    def _files(self) -> list[tuple[float, int, Path]]:
        found = []
        with suppress(OSError):
            for path in self._folder.iterdir():
                with suppress(OSError):
                    status = path.lstat()
                    found.append((status.st_mtime, status.st_size, path))
        return found


def _name(made: BinaryIO, target: Path) -> None:
    """Give the open file a name; where the file system cannot, a copy gets it."""
    try:
        os.link(f"/proc/self/fd/{made.fileno()}", target, follow_symlinks=True)
    except OSError:
        with target.open("xb") as file:
            made.seek(0)
            shutil.copyfileobj(made, file)
            file.flush()
            os.fsync(file.fileno())
