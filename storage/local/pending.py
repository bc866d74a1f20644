"""One file on its way in: written piece by piece under a hidden name, then durable or gone.

The thread that writes and the one that gives up may be different: closing waits for a running write, and a write
after closing is refused, so a descriptor is never used after the system has given its number to another file.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from opendatafabric.errors import StorageError
from opendatafabric.limits import FLUSH_EVERY_BYTES
from storage.local import durable


class PendingFile:
    """A hidden file in ``root/part``, open for writing."""

    def __init__(self, root: Path, part: str) -> None:
        self._folder, self._part = root / part, part
        self.name = durable.pending_name()
        self._lock = threading.Lock()
        self._unflushed = 0
        with durable.translated(f"create a file in {part}/"), durable.opened_folder(root, part, create=True) as folder:
            self._descriptor = os.open(self.name, durable.CREATE_FLAGS, 0o644, dir_fd=folder)
            durable.try_lock(self._descriptor)  # so that nobody takes it for one that was left behind

    def write(self, piece: bytes) -> None:
        """Append ``piece``; every ``FLUSH_EVERY_BYTES`` also to the disk."""
        with self._lock, durable.translated(f"write {self._part}/{self.name}"):
            if self._descriptor < 0:
                raise StorageError(f"{self._part}/{self.name} was given up while being written")
            durable.write_all(self._descriptor, piece)
            self._unflushed += len(piece)
            if self._unflushed >= FLUSH_EVERY_BYTES:
                os.fdatasync(self._descriptor)
                self._unflushed = 0

    def finish(self) -> None:
        """Make the bytes durable. The name is not, which is fine: without its bytes it means nothing."""
        with self._lock, durable.translated(f"flush {self._part}/{self.name}"):
            os.fsync(self._descriptor)
            self._close()

    def abandon(self) -> None:
        """Close and remove."""
        with self._lock, durable.translated(f"remove {self._part}/{self.name}"):
            self._close()
            (self._folder / self.name).unlink(missing_ok=True)

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
