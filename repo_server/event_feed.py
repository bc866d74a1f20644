"""What happened to datasets, as it comes in: one look at the catalog for all who listen to this process.

Listeners keep nothing but the number of the last event they have; the newest events are kept once, for all of them.
Whoever is further behind reads the catalog for itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from itertools import takewhile
from typing import Final

from catalog.events import Event, Events
from opendatafabric.errors import OdfError
from repo_server.logs import SERVER

LOOK_EVERY_S: Final = 0.25
_KEPT: Final = 1_000


class EventFeed:
    """The events of one catalog; ``version`` says whether anything in it may have changed, and ``before_telling`` is
    done before listeners are woken."""

    def __init__(
        self, events: Events, version: Callable[[], Hashable | None], *, before_telling: Callable[[], Awaitable[None]]
    ) -> None:
        self._events, self._before_telling = events, before_telling
        self._said: dict[int, bytes] = {}
        self._version = version
        self._recent: deque[Event] = deque(maxlen=_KEPT)
        self._newest: int | None = None
        self._news = asyncio.Event()
        self._seen: Hashable | None = None

    async def run_for_ever(self, *, look_every_s: float = LOOK_EVERY_S) -> None:
        """Look for what is new, again and again."""
        while True:
            try:
                await self.look()
            except OdfError as error:
                SERVER.warning("events cannot be looked for: %s", error)
            await asyncio.sleep(look_every_s)

    async def look(self) -> None:
        """Tell all who wait, if there is something new."""
        version = self._version()
        if version is not None and version == self._seen:
            return
        before = self._newest
        newest = await self._events.newest() if before is None else before
        while found := await self._events.after(newest):
            self._recent.extend(found)
            newest = found[-1].id
        self._newest, self._seen = newest, version
        if newest != before:
            await self._before_telling()
            self.wake_all()

    def wake_all(self) -> None:
        """Have all who wait look up."""
        self._news.set()
        self._news = asyncio.Event()

    async def newest(self) -> int:
        """The number of the last event that there is."""
        return await self._events.newest()

    async def after(self, number: int, *, patience_s: float) -> Sequence[Event]:
        """What came after the event of that number, oldest first; it may be nothing, after ``patience_s`` at most."""
        if not self._has_after(number):
            try:
                async with asyncio.timeout(patience_s):
                    await self._news.wait()
            except TimeoutError:
                return ()
        if not self._has_after(number):
            return ()
        if self._recent and self._recent[0].id <= number + 1:
            return [*takewhile(lambda event: event.id > number, reversed(self._recent))][::-1]
        return await self._events.after(number)

    def said(self, event: Event, say: Callable[[Event], bytes]) -> bytes:
        """The event as all listeners are told it: put into words once, not for each of them."""
        if event.id not in self._said:
            while len(self._said) >= _KEPT:
                del self._said[next(iter(self._said))]
            self._said[event.id] = say(event)
        return self._said[event.id]

    def _has_after(self, number: int) -> bool:
        return self._newest is not None and number < self._newest
