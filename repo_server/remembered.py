"""Answers kept for a moment: what every request asks need not be asked of the database every time.

An answer counts for a second at most, and only as long as nobody has written to the database since: a token that is
revoked or a role that is taken away ends at once, whichever process did it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

REMEMBERED_S: Final = 1.0
"""How long an answer counts; it bounds how long a folder that was moved by hand goes unnoticed."""

ENTRIES_MAX: Final = 10_000
"""How many answers of a kind are kept; the oldest go first. Bounds what callers with made-up names can fill."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """Values by key; ``version`` is something that differs once anything may have changed."""

    def __init__(self, version: Callable[[], object]) -> None:
        self._version = version
        self._values: OrderedDict[Key, tuple[float, object, Value]] = OrderedDict()

    async def get(self, key: Key, ask: Callable[[], Awaitable[Value]]) -> Value:
        """The value of ``key``, asked for if it is not known; what ``ask`` raises is not remembered."""
        version = self._version()
        found = self._values.get(key)
        if found is not None and found[0] > time.monotonic() and found[1] == version:
            return found[2]
        value = await ask()
        self._values[key] = (time.monotonic() + REMEMBERED_S, version, value)
        self._values.move_to_end(key)
        while len(self._values) > ENTRIES_MAX:
            self._values.popitem(last=False)
        return value

    def forget(self, key: Key) -> None:
        """Ask anew next time."""
        self._values.pop(key, None)
