"""Webhooks are told in order, each once as far as one can know, whatever breaks; the clock is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.events import Event, EventType
from catalog.sqlite_files import sqlite_url
from catalog.webhook_schedule import Attempt
from catalog.webhook_turns import LEASE_S
from catalog.webhooks import NewWebhook, Reach, Webhook
from opendatafabric.errors import AccessDenied
from opendatafabric.names import AccountName
from repo_server.webhooks.telling import OF_ACCOUNT_AT_ONCE, Pace, WebhookTeller
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow

PACE = Pace(at_once=100, per_minute=0, paused_after_s=86_400.0)
URL = "https://me:s3cr3t@example.org/hooks/s3cr3t"


@dataclass
class Receivers:
    """What every receiver was told, as pairs of webhook and event; ``answer`` says how it goes."""

    clock: Clock
    answer: Callable[[Webhook], int | Exception] = lambda _: 204
    told: list[tuple[str, int]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    held: asyncio.Event | None = None

    async def send(self, webhook: Webhook, event: Event) -> Attempt:
        if self.held is not None:
            await self.held.wait()
        self.told.append((webhook.id, event.id))
        answer = self.answer(webhook)
        if isinstance(answer, Exception):
            raise answer
        return Attempt(self.clock.now, 0.0, answer)

    def of(self, webhook: Webhook) -> list[int]:
        return [number for whose, number in self.told if whose == webhook.id]


class SomeRights:
    """All may hear all, but of the datasets that are ``hidden``."""

    def __init__(self) -> None:
        self.hidden: set[int] = set()

    async def hears(self, webhook: Webhook, event: Event) -> bool:
        hidden = event.dataset_id in {dataset_id(number) for number in self.hidden}
        return webhook.is_about(event.type, event.dataset_id) and not hidden


@dataclass
class Told:
    """A catalog with an account, and servers that tell its webhooks."""

    catalog: Catalog
    clock: Clock
    receivers: Receivers
    alice: Account
    rights: SomeRights = field(default_factory=SomeRights)

    def server(self, pace: Pace = PACE) -> WebhookTeller:
        attempted = self.receivers.attempts.append
        return WebhookTeller(self.catalog, self.rights, self.receivers.send, pace, self.clock, attempted=attempted)

    async def webhook(self, *types: EventType, dataset: int | None = None) -> Webhook:
        about = None if dataset is None else dataset_id(dataset)
        reach = Reach.ALL if about is None else Reach.DATASET
        return await self.catalog.webhooks.add(NewWebhook(URL, reach, self.alice.id, about, frozenset(types)))

    async def happen(self, *numbers: int, type_: EventType = EventType.HEAD_MOVED) -> None:
        for number in numbers:
            await self.catalog.events.note(type_, dataset_id(number), {})

    async def standing(self, webhook: Webhook) -> tuple[int, str, int]:
        found = (await self.catalog.webhooks.find(webhook.id)).standing
        return found.cursor, found.state.value, found.failures


async def tell_all(server: WebhookTeller, rounds: int = 20) -> None:
    """Until there is nothing to be told just now."""
    for _ in range(rounds):
        await server.look()
        await server.settle()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Told]:
    clock = Clock()
    async with open_catalog(sqlite_url(folder / "catalog.sqlite"), now=clock) as catalog:
        alice = await catalog.accounts.create(AccountName("alice"))
        yield Told(catalog, clock, Receivers(clock), alice)


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with opened(tmp_path) as found:
        yield found


async def test_everything_is_told_once_and_in_order(told: Told) -> None:
    webhook = await told.webhook()
    await told.happen(1, 2, 1)
    await tell_all(told.server(), 5)
    assert told.receivers.of(webhook) == [1, 2, 3]
    assert await told.standing(webhook) == (3, "active", 0)


async def test_it_is_told_what_it_asked_for(told: Told) -> None:
    some, one = await told.webhook(EventType.GONE, EventType.RENAMED), await told.webhook(dataset=2)
    await told.happen(1, 2)
    await told.happen(1, type_=EventType.RENAMED)
    await tell_all(told.server(), 5)
    assert (told.receivers.of(some), told.receivers.of(one)) == ([3], [2])
    assert [(await told.standing(each))[0] for each in (some, one)] == [3, 3]


async def test_rights_are_asked_when_it_is_sent_and_not_when_it_happened(told: Told) -> None:
    webhook = await told.webhook()
    await told.happen(1, 2, 3)
    told.rights.hidden = {1, 3}
    await tell_all(told.server(), 5)
    told.rights.hidden = set()
    await tell_all(told.server(), 5)
    assert told.receivers.of(webhook) == [2]


async def test_rights_that_end_while_it_fails_end_the_telling(told: Told) -> None:
    webhook = await told.webhook()
    told.receivers.answer = lambda _: 500
    await told.happen(1)
    await tell_all(told.server(), 2)
    told.rights.hidden = {1}
    told.clock.now += 60
    await tell_all(told.server(), 2)
    assert told.receivers.of(webhook) == [1]
    assert (await told.standing(webhook))[0] == 1


async def test_what_was_not_taken_holds_up_its_webhook_alone(told: Told) -> None:
    failing, other = await told.webhook(), await told.webhook()
    told.receivers.answer = lambda webhook: 500 if webhook.id == failing.id else 204
    await told.happen(1, 2)
    await tell_all(told.server(), 4)
    assert (told.receivers.of(failing), told.receivers.of(other)) == ([1], [1, 2])
    told.receivers.answer = lambda _: 204
    told.clock.now += 11
    await tell_all(told.server(), 4)
    assert told.receivers.of(failing) == [1, 1, 2]
    log = await told.catalog.webhook_deliveries.of(failing.id)
    assert [(each.told.attempt, each.attempt.status) for each in reversed(log)] == [(1, 500), (2, 204), (1, 204)]


async def test_a_receiver_that_wants_no_more_is_told_no_more(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    webhook = await told.webhook()
    told.receivers.answer = lambda _: 410
    await told.happen(1, 2)
    await tell_all(told.server(), 3)
    told.clock.now += 1e6
    await tell_all(told.server(), 3)
    assert told.receivers.of(webhook) == [1]
    assert await told.standing(webhook) == (0, "ended", 0)
    assert "told no more" in caplog.text


async def test_one_that_fails_for_a_day_is_paused(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    webhook = await told.webhook()
    told.receivers.answer = lambda _: 503
    await told.happen(1)
    for _ in range(30):
        await tell_all(told.server(), 1)
        told.clock.now += 14_400
    assert (await told.standing(webhook))[1] == "paused"
    assert 6 <= len(told.receivers.told) <= 20
    assert "it failed for 1 days" in caplog.text
    assert "s3cr3t" not in caplog.text


async def test_two_servers_do_not_tell_it_twice(told: Told) -> None:
    webhook, servers = await told.webhook(), (told.server(), told.server())
    await told.happen(*range(5))
    for _ in range(10):
        await asyncio.gather(*(server.look() for server in servers))
        await asyncio.gather(*(server.settle() for server in servers))
    assert told.receivers.of(webhook) == [1, 2, 3, 4, 5]


async def test_what_a_server_was_telling_when_it_died_is_told_by_another(told: Told) -> None:
    webhook, dead = await told.webhook(), told.server()
    await told.happen(1, 2)
    turn = await told.catalog.webhook_turns.take(webhook)  # and then no more is heard of it
    assert turn is not None
    await tell_all(dead, 2)
    assert told.receivers.told == []
    told.clock.now += LEASE_S
    await tell_all(told.server(), 4)
    assert told.receivers.of(webhook) == [1, 2]


async def test_a_server_that_stops_gives_its_turns_back(told: Told) -> None:
    webhook, server = await told.webhook(), told.server()
    told.receivers.held = asyncio.Event()
    await told.happen(1)

    async def news(_: int, patience_s: float) -> None:
        await asyncio.Event().wait()

    running = asyncio.create_task(server.run_for_ever(news))
    async with asyncio.timeout(60):
        while await told.catalog.webhook_turns.behind(1):  # noqa: ASYNC110  (until the turn is taken)
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    told.receivers.held = None
    await tell_all(told.server(), 2)
    assert told.receivers.of(webhook) == [1]


async def test_it_goes_on_for_ever(told: Told) -> None:
    webhook, server, happened = await told.webhook(), told.server(), asyncio.Event()

    async def news(_: int, patience_s: float) -> None:
        await happened.wait()
        happened.clear()

    running = asyncio.create_task(server.run_for_ever(news))
    try:
        async with asyncio.timeout(60):
            for count in (1, 2, 3):
                await told.happen(1)
                happened.set()
                while len(told.receivers.of(webhook)) < count:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert told.receivers.of(webhook) == [1, 2, 3]


async def test_what_cannot_be_sent_for_our_own_fault_is_tried_when_the_lease_has_ended(told: Told) -> None:
    webhook, server = await told.webhook(), told.server()
    told.receivers.answer = lambda _: AccessDenied("the key is not readable")
    await told.happen(1)
    await tell_all(server, 5)
    assert told.receivers.of(webhook) == [1]
    told.receivers.answer = lambda _: 204
    told.clock.now += LEASE_S
    await tell_all(server, 2)
    assert told.receivers.of(webhook) == [1, 1]


async def test_of_one_account_only_so_many_are_told_at_once(told: Told) -> None:
    for _ in range(OF_ACCOUNT_AT_ONCE + 3):
        await told.webhook()
    await told.happen(1)
    server = told.server()
    await server.look()
    await server.settle()
    assert len(told.receivers.told) == OF_ACCOUNT_AT_ONCE
    await tell_all(server, 2)
    assert len(told.receivers.told) == OF_ACCOUNT_AT_ONCE + 3


async def test_no_more_are_told_at_once_than_the_settings_say(told: Told) -> None:
    for _ in range(3):
        await told.webhook()
    await told.happen(1)
    server = told.server(Pace(2, 0, 86_400.0))
    await server.look()
    await server.settle()
    assert len(told.receivers.told) == 2


async def test_an_account_is_told_so_much_in_a_minute_and_the_rest_later(told: Told) -> None:
    webhook, server = await told.webhook(), told.server(Pace(100, 2, 86_400.0))
    await told.happen(1, 2, 3, 4)
    await tell_all(server, 5)
    assert told.receivers.of(webhook) == [1, 2]
    told.clock.now += 60
    await tell_all(server, 5)
    assert told.receivers.of(webhook) == [1, 2, 3, 4]


@pytest.mark.slow
async def test_one_that_is_far_behind_comes_to_the_end(told: Told) -> None:
    far, wanted = await told.webhook(EventType.GONE), await told.webhook(dataset=7)
    async with asyncio.timeout(60):
        await told.happen(*([1] * 520), 7)
        await tell_all(told.server(), 4)
    assert (told.receivers.of(wanted), await told.standing(far)) == ([521], (521, "active", 0))


async def test_how_it_went_is_counted(told: Told) -> None:
    await told.webhook()
    await told.happen(1)
    await tell_all(told.server(), 2)
    assert [attempt.status for attempt in told.receivers.attempts] == [204]
