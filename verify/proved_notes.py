"""Notes of a long run on what it has proved, so that the next one goes on where a killed one was.

A note names a block, an object and the state of its file (size, times, inode). The hash of a block stands for the
whole chain before it, hence for everything the object was compared with. Notes are worth something to the next run
alone: one that comes to its end removes them, so that what lies on a disk is read again each time. They lie in a folder
of the user who verifies, and whoever may write there could as well change the program.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendatafabric.multihash import physical_hash
from storage.protocols import ObjectReader
from verify.objects import ObjectTask

NOTES_AGE_S_MAX: Final = 7 * 86_400.0
"""What was proved longer ago is proved anew."""

_FIELDS: Final = 4


class ProvedNotes:
    """The notes on the dataset at ``place``, in ``folder``, which is made when it is needed. ``fresh`` ones tell
    nothing of earlier runs. ``now`` since 1970."""

    def __init__(self, folder: Path, place: str, *, fresh: bool = False, now: Callable[[], float] = time.time) -> None:
        self._file = folder / f"{physical_hash(place.encode())}.proved"
        self._fresh, self._now = fresh, now
        self._known: dict[tuple[str, str, str], int] = {}

    def load(self) -> None:
        """Know what an earlier run noted; a damaged line tells nothing."""
        if self._fresh:
            self.remove()
        with suppress(OSError, UnicodeDecodeError):
            if self._file.stat().st_mtime > self._now() - NOTES_AGE_S_MAX:
                for line in self._file.read_text().splitlines():
                    self._learn(line.split(" "))

    def records_of(self, task: ObjectTask, state: str) -> int | None:
        """How many records were proved, if the object was, and its file is as it was then."""
        return self._known.get((str(task.block_hash), task.key, state))

    def add(self, task: ObjectTask, state: str, records: int) -> None:
        """An object was proved whose file was in that state before. That it cannot be noted is no failure."""
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._file.open("a") as file:
                file.write(f"{task.block_hash} {task.key} {state} {records}\n")

    def remove(self) -> None:
        """The run came to its end."""
        with suppress(OSError):
            self._file.unlink()

    def _learn(self, fields: list[str]) -> None:
        if len(fields) == _FIELDS and fields[-1].isascii() and fields[-1].isdigit():
            self._known[fields[0], fields[1], fields[2]] = int(fields[3])


def notes_folder() -> Path:
    """Where verifications of this user note how far they came."""
    return Path.home() / ".cache" / "odf" / "verify"


def state_of(reader: ObjectReader, key: str) -> str | None:
    """What changes when somebody changes the file of an object; ``None`` where there is no file."""
    path = reader.local_path(key)
    try:
        found = None if path is None else os.lstat(path)
    except OSError:
        return None
    return None if found is None else f"{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_ino}"
