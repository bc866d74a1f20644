"""A Spark session that is made when a job asks for it, or by the way while there is nothing else to do.

Most jobs need no Spark: they are at work while a JVM would still load its classes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from opendatafabric.errors import OdfError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HeldSession(Protocol):
    """A session and the JVM under it."""

    @property
    def session(self) -> SparkSession:
        """For jobs."""
        ...

    def answers(self) -> bool:
        """Whether the JVM is alive."""
        ...

    def close(self) -> None:
        """End both."""
        ...


class SessionOnDemand:
    """``start`` is called once, by whoever is first; one that failed is tried again by the next job that asks."""

    def __init__(self, start: Callable[[], HeldSession]) -> None:
        self._start, self._lock = start, threading.Lock()
        self._held: HeldSession | None = None
        self._warming: threading.Thread | None = None
        self._asked = False

    def get(self) -> SparkSession:
        """The session; errors as ``start``."""
        self._asked = True
        return self._hold().session

    def warm_up(self) -> None:
        """Make the session in the background, once; why there is none is told to the job that asks for it."""
        if self._warming is None and self._held is None:
            self._warming = threading.Thread(target=self._try_to_hold, daemon=True)
            self._warming.start()

    def is_sound(self) -> bool:
        """That no job asked, since the last look, for a session whose JVM is gone."""
        asked, self._asked = self._asked, False
        return not asked or self._held is None or self._held.answers()

    def close(self) -> None:
        """End the session, if there is one or one is being made."""
        with self._lock:
            if self._held is not None:
                self._held.close()

    def _hold(self) -> HeldSession:
        with self._lock:
            if self._held is None:
                self._held = self._start()
            return self._held

    def _try_to_hold(self) -> None:
        with suppress(OdfError):
            self._hold()
