"""Answers kept for a moment: what every request asks is asked of the database about once a second.

So a token that is revoked, a role that is taken away, a dataset that is renamed may count for that second still.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final, Generic, TypeVar

REMEMBERED_S: Final = 1.0
"""How long an answer counts."""

ENTRIES_MAX: Final = 10_000
"""How many answers of a kind are kept; the oldest go first. Bounds what callers with made-up names can fill."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """Values by key, each for ``REMEMBERED_S``."""

    def __init__(self) -> None:
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """The value, if it still counts."""
        found = self._values.get(key)
        if found is None or found[0] < time.monotonic():
            return None
        return found[1]

    def put(self, key: Key, value: Value) -> Value:
        """Remember ``value``; it is handed back."""
        self._values[key] = (time.monotonic() + REMEMBERED_S, value)
        self._values.move_to_end(key)
        while len(self._values) > ENTRIES_MAX:
            self._values.popitem(last=False)
        return value

    def forget(self, key: Key) -> None:
        """Ask anew next time."""
        self._values.pop(key, None)
