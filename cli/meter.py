"""What an ingest came to: bytes and time, measured while its progress is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from storage.progress import BYTES, Progress, silent


@dataclass(frozen=True, slots=True)
class Measured:
    """From the beginning of an ingest to its end."""

    size: int
    seconds: float

    def per_s(self, count: int) -> float:
        """So many of them a second."""
        return count / max(self.seconds, 1e-9)


class Meter:
    """Passes progress on to ``shown``. ``clock`` in seconds from any beginning."""

    def __init__(self, shown: Progress = silent, clock: Callable[[], float] = time.monotonic) -> None:
        self.shown, self._clock = shown, clock
        self._size, self._begun = 0, clock()

    def progress(self, label: str, done: int, total: int | None) -> None:
        """As bars take it."""
        if label == BYTES:
            self._size = done
        self.shown(label, done, total)

    def told(self, message: dict[str, Any]) -> None:
        """What a job of the Spark worker tells: records by what became of them."""
        for label, count in message.get("rows", {}).items():
            self.shown(label, count, None)

    def lap(self) -> Measured:
        """What was measured since the last time; the next ingest begins."""
        measured = Measured(self._size, self._clock() - self._begun)
        self._size, self._begun = 0, self._clock()
        return measured
