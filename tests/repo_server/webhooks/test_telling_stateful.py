"""Anything may happen in any order: events, receivers that fail, servers that die, time that passes. What holds: a
receiver hears everything that it wants, in order, and a repetition only of the last thing it heard."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from catalog.events import Event
from catalog.webhook_schedule import Attempt, WebhookState
from catalog.webhook_turns import LEASE_S
from catalog.webhooks import Webhook, WebhookChange
from repo_server.webhooks.telling import Pace, WebhookTeller
from tests.repo_server.webhooks.test_telling import Told, opened, tell_all

T = TypeVar("T")
PACE = Pace(at_once=100, per_minute=0, paused_after_s=100_000.0)


class Died(Exception):  # noqa: N818  it is what happens to a server
    """The process ends here."""


class Telling(RuleBasedStateMachine):
    """Two servers over one catalog, and two webhooks: one wants everything, one what happens to one dataset."""

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.stack = AsyncExitStack()
        self.told: Told = self.run(self.stack.enter_async_context(opened(Path(self.folder.name))))
        self.webhooks = [self.run(self.told.webhook()), self.run(self.told.webhook(dataset=1))]
        self.happened: list[int] = []
        self.heard: dict[str, list[int]] = {each.id: [] for each in self.webhooks}
        self.ready_at: dict[str, float] = {}
        self.answer: Attempt | None = None
        self.servers = [self.new_server(), self.new_server()]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def new_server(self) -> WebhookTeller:
        return WebhookTeller(self.told.catalog, self.told.rights, self.send, PACE, self.told.clock)

    async def send(self, webhook: Webhook, event: Event) -> Attempt:
        now = self.told.clock.now
        assert now >= self.ready_at.get(webhook.id, 0.0), "it was told too early"
        self.heard[webhook.id].append(event.id)
        if self.answer is None:
            raise Died
        attempt = Attempt(now, 0.0, self.answer.status, retry_after_s=self.answer.retry_after_s)
        if attempt.retry_after_s is not None:
            self.ready_at[webhook.id] = now + attempt.retry_after_s
        return attempt

    @rule(number=st.integers(1, 2))
    def something_happens(self, number: int) -> None:
        self.run(self.told.happen(number))
        self.happened.append(number)

    @rule(status=st.sampled_from([200, 500, 410]))
    def receivers_answer(self, status: int) -> None:
        self.answer = Attempt(0.0, 0.0, status)

    @rule(seconds=st.floats(10.0, 3_600.0))
    def receivers_are_busy(self, seconds: float) -> None:
        self.answer = Attempt(0.0, 0.0, 429, retry_after_s=seconds)

    @rule()
    def the_next_telling_kills_the_server(self) -> None:
        self.answer = None

    @rule(seconds=st.sampled_from([1.0, 10.0, LEASE_S, 3_600.0, 50_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.told.clock.now += seconds

    @rule(which=st.integers(0, 1))
    def a_server_looks(self, which: int) -> None:
        self.run(self.look(which))

    @rule()
    def both_look_at_once(self) -> None:
        async def both() -> None:
            await asyncio.gather(self.look(0), self.look(1))

        self.run(both())

    async def look(self, which: int) -> None:
        server = self.servers[which]
        try:
            await server.look()
            await server.settle()
        except Died:
            self.servers[which] = self.new_server()

    @rule(which=st.integers(0, 1), active=st.booleans())
    def somebody_pauses_or_resumes(self, which: int, active: bool) -> None:
        self.ready_at.clear()  # whoever resumes it has it tried at once
        self.run(self.told.catalog.webhooks.change(self.webhooks[which], WebhookChange(active=active)))

    @invariant()
    def what_was_heard_is_in_order_and_without_a_gap(self) -> None:
        if not hasattr(self, "loop"):
            return
        for webhook in self.webhooks:
            heard = list(dict.fromkeys(self.heard[webhook.id]))
            assert heard == self.wanted(webhook)[: len(heard)]
            assert self.heard[webhook.id] == sorted(self.heard[webhook.id])

    def wanted(self, webhook: Webhook) -> list[int]:
        about = webhook.wanted.dataset_id
        return [at for at, number in enumerate(self.happened, 1) if about is None or number == 1]

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        try:
            self.run(self.nothing_is_lost())
        finally:
            self.run(self.stack.aclose())
            self.loop.close()
            self.folder.cleanup()

    async def nothing_is_lost(self) -> None:
        self.answer, self.servers = Attempt(0.0, 0.0, 200), [self.new_server()]
        self.ready_at.clear()
        self.told.clock.now += 100_000.0
        for webhook in self.webhooks:
            await self.told.catalog.webhooks.change(webhook, WebhookChange(active=True))
        await tell_all(self.servers[0], len(self.happened) + 2)
        for webhook in self.webhooks:
            assert list(dict.fromkeys(self.heard[webhook.id])) == self.wanted(webhook)
            standing = (await self.told.catalog.webhooks.find(webhook.id)).standing
            assert (standing.state, standing.failures) == (WebhookState.ACTIVE, 0)
            assert not self.happened or standing.cursor == len(self.happened)


TestTelling = pytest.mark.slow(Telling.TestCase)
