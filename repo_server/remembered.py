"""Answers kept for a moment: what every request asks need not be asked of the database every time.

An answer counts for a second at most, and only as long as nobody has written to the database since: a token that is
revoked or a role that is taken away ends at once, whichever process did it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from typing import Any, Final, Generic, TypeVar

REMEMBERED_S: Final = 1.0
"""How long an answer counts; it bounds how long a folder that was moved by hand goes unnoticed."""

ENTRIES_MAX: Final = 10_000
"""How many answers of a kind are kept; the oldest go first. Bounds what callers with made-up names can fill."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """Values by key; ``version`` differs once anything may have changed, and is ``None`` where nobody can tell."""

    def __init__(self, version: Callable[[], Hashable | None]) -> None:
        self._version = version
        self._values: OrderedDict[Key, tuple[float, Hashable, Value]] = OrderedDict()
        self._asked: dict[tuple[Key, Hashable], asyncio.Task[Value]] = {}

    async def ask(
        self,
        key: Key,
        question: Callable[[], Coroutine[Any, Any, Value]],
        *,
        keep: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """The value of ``key``, asked for if it is not known; errors and what ``keep`` denies are not remembered."""
        version = self._version()
        if version is None:
            return await question()
        found = self._values.get(key)
        if found is not None and found[1] == version and found[0] > time.monotonic():
            return found[2]
        value = await self._ask_once(key, version, question)
        if keep(value):
            self._keep(key, version, value)
        return value

    async def ask_all(self, question: Callable[[], Awaitable[Mapping[Key, Value]]]) -> None:
        """Remember the answers to many questions, asked as one."""
        version = self._version()
        if version is not None:
            for key, value in (await question()).items():
                self._keep(key, version, value)

    async def _ask_once(self, key: Key, version: Hashable, question: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        # Many requests want to know at the same moment. One asks, in a task of its own: it may go away meanwhile.
        asked = self._asked.get((key, version))
        if asked is None:
            asked = self._asked[key, version] = asyncio.create_task(question())
            asked.add_done_callback(lambda task: self._answered(key, version, task))
        return await asyncio.shield(asked)

    def _answered(self, key: Key, version: Hashable, task: asyncio.Task[Value]) -> None:
        self._asked.pop((key, version), None)
        if not task.cancelled():
            task.exception()  # looked at, so that an error nobody waited for is not reported as lost

    def _keep(self, key: Key, version: Hashable, value: Value) -> None:
        self._values[key] = (time.monotonic() + REMEMBERED_S, version, value)
        self._values.move_to_end(key)
        while len(self._values) > ENTRIES_MAX:
            self._values.popitem(last=False)

    async def settle(self) -> None:
        """Wait for every question that is under way, whether or not anybody waits for its answer."""
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    def forget(self, key: Key) -> None:
        """Ask anew next time."""
        self._values.pop(key, None)
