"""Telling webhooks what happened: each in the order of events and one thing at a time, many beside each other.

Nothing is kept here but what is under way. How far each webhook was told is in the catalog.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlsplit

from catalog.budgets import Budget, Budgets
from catalog.catalog import Catalog
from catalog.events import Event
from catalog.webhook_deliveries import Told
from catalog.webhook_schedule import Attempt, WebhookState, after_attempt
from catalog.webhook_turns import Turn
from catalog.webhooks import Webhook
from opendatafabric.errors import OdfError
from repo_server.logs import SERVER

LOOK_EVERY_S: Final = 2.0
OF_ACCOUNT_AT_ONCE: Final = 8
"""Webhooks of one account that are told beside each other: slow receivers of one must not hold up all others."""


class Rights(Protocol):
    """What webhooks may hear."""

    async def hears(self, webhook: Webhook, event: Event) -> bool: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """``at_once`` webhooks are told beside each other; an account is told so much in a minute (0: any number), and a
    webhook that failed for so long is paused."""

    at_once: int
    per_minute: int
    paused_after_s: float


Send = Callable[[Webhook, Event], Awaitable[Attempt]]
Wait = Callable[[int, float], Awaitable[object]]
"""Ends when something happened after the event of that number, or after so many seconds."""


class WebhookTeller:
    """Tells the webhooks of one catalog; ``send`` makes one attempt, ``attempted`` is told how it went."""

    def __init__(
        self,
        catalog: Catalog,
        rights: Rights,
        send: Send,
        pace: Pace,
        now: Callable[[], float],
        *,
        attempted: Callable[[Attempt], None] = lambda _: None,
    ) -> None:
        self._turns, self._events = catalog.webhook_turns, catalog.events
        self._rights, self._send, self._pace, self._now, self._attempted = rights, send, pace, now, attempted
        self._budgets = Budgets(Budget(pace.per_minute, 60.0)) if pace.per_minute else None
        self._telling: dict[str, tuple[object, asyncio.Task[None]]] = {}
        self._ended = asyncio.Event()
        self._newest = 0

    async def run_for_ever(self, wait: Wait) -> None:
        """Whatever comes, until it is cancelled."""
        try:
            while True:
                await self._wait(wait, await self._looked())
        finally:
            await self._stop()

    async def _looked(self) -> int:
        try:
            return await self.look()
        except OdfError as error:
            SERVER.warning("webhooks cannot be looked for: %s", error)
            return self._newest

    async def look(self) -> int:
        """Begin to tell all that are behind and that nobody tells; the number of the newest event."""
        self._ended.clear()
        self._newest = newest = await self._events.newest()
        behind = [each for each in await self._turns.behind(newest) if each.id not in self._telling]
        if behind:
            await self._look_at(behind)
        return newest

    async def _look_at(self, behind: Sequence[Webhook]) -> None:
        window = await self._events.after(behind[0].standing.cursor)
        passed = []
        for webhook in behind:
            event = await self._next(webhook, window)
            if event is None:
                passed.append(webhook.id)
            else:
                self._begin(webhook, event)
        if window:
            await self._turns.pass_over(passed, window[-1].id)

    async def settle(self) -> None:
        """Wait for all that are being told."""
        await asyncio.gather(*(task for _, task in self._telling.values()))

    async def _next(self, webhook: Webhook, window: Sequence[Event]) -> Event | None:
        for event in window:
            if event.id > webhook.standing.cursor and await self._rights.hears(webhook, event):
                return event
        return None

    def _begin(self, webhook: Webhook, event: Event) -> None:
        whose = webhook.wanted.account_id or webhook.wanted.dataset_id
        of_same = sum(1 for other, _ in self._telling.values() if other == whose)
        if len(self._telling) >= self._pace.at_once or of_same >= OF_ACCOUNT_AT_ONCE:
            return
        if self._budgets is not None and not self._budgets.take(whose, self._now()).granted:
            return
        task = asyncio.create_task(self._tell(webhook, event))
        self._telling[webhook.id] = (whose, task)
        task.add_done_callback(lambda _: self._told(webhook))

    def _told(self, webhook: Webhook) -> None:
        del self._telling[webhook.id]
        self._ended.set()

    async def _tell(self, webhook: Webhook, event: Event) -> None:
        try:
            turn = await self._turns.take(webhook)
            if turn is not None:
                await self._tell_under(turn, event)
        except OdfError as error:
            SERVER.warning("a webhook cannot be told: %s", error)

    async def _tell_under(self, turn: Turn, event: Event) -> None:
        webhook = turn.webhook
        try:
            attempt = await self._send(webhook, event)
        except asyncio.CancelledError:
            await asyncio.shield(self._turns.give_back(turn))  # what fails otherwise is tried when the lease has ended
            raise
        standing = after_attempt(webhook.standing, event.id, attempt, paused_after_s=self._pace.paused_after_s)
        told = Told(event.id, event.type.value, event.alias, webhook.standing.failures + 1)
        await self._turns.end(turn, standing, told, attempt)
        self._attempted(attempt)
        if not attempt.taken:
            host = urlsplit(webhook.wanted.url).hostname
            SERVER.warning("a webhook was not taken by %s: %s (attempt %d)", host, attempt.told, told.attempt)
        if standing.state is not WebhookState.ACTIVE:
            SERVER.warning("webhook %s is told no more: %s", webhook.id, standing.reason)

    async def _wait(self, wait: Wait, newest: int) -> None:
        """Until something happened, one was told to whom more may have to be told, or some time has passed."""
        waits = [asyncio.ensure_future(each) for each in (self._ended.wait(), wait(newest, LOOK_EVERY_S))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _stop(self) -> None:
        tasks = [task for _, task in self._telling.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
