"""The file that a source's bytes go to, bounded."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from opendatafabric.errors import LimitExceeded
from opendatafabric.source_limits import FETCH_BYTES_MAX
from storage.local.durable import translated
from storage.progress import BYTES, Progress, silent


class Sink:
    """A new file, open while the context lasts; ``place`` names the source in errors, ``total`` is the size it told."""

    def __init__(self, target: Path, place: str, progress: Progress = silent, total: int | None = None) -> None:
        self.target, self._place = target, place
        self._progress, self._total = progress, total
        self.size = 0

    def __enter__(self) -> Sink:
        with translated(f"make {self.target}"):
            self._file = self.target.open("xb")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with translated(f"write {self.target}"):
            self._file.close()

    def write(self, piece: bytes) -> None:
        """Append it.

        Raises:
            LimitExceeded: the source gives more than may be taken.
            StorageError: it cannot be written.
        """
        self.size += len(piece)
        if self.size > FETCH_BYTES_MAX:
            raise LimitExceeded(f"the source {self._place} gives too much", expected=f"at most {FETCH_BYTES_MAX} bytes")
        with translated(f"write {self.target}"):
            self._file.write(piece)
        self._progress(BYTES, self.size, self._total)
