"""Who tells a webhook, and from where on: one at a time, in order, nothing left out."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.events import EventType
from catalog.webhook_deliveries import Told
from catalog.webhook_schedule import Attempt, after_attempt
from catalog.webhook_turns import LEASE_S, Turn
from catalog.webhooks import NewWebhook, Reach, Webhook, WebhookChange
from opendatafabric.errors import NotFound
from opendatafabric.server_limits import WEBHOOK_DELIVERIES_KEPT
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

TOLD = Told(1, "head-moved", "alice/weather")


@pytest.fixture
async def webhook(catalog: Catalog, alice: Account) -> Webhook:
    return await catalog.webhooks.add(NewWebhook("https://example.org/", Reach.ALL, alice.id))


async def happen(catalog: Catalog) -> int:
    await catalog.events.note(EventType.HEAD_MOVED, dataset_id(1), {})
    return await catalog.events.newest()


async def ended(catalog: Catalog, turn: Turn, event_id: int, status: int, at: float) -> None:
    attempt = Attempt(at, 0.0, status)
    standing = after_attempt(turn.webhook.standing, event_id, attempt, paused_after_s=100.0, part=1.0)
    await catalog.webhook_turns.end(turn, standing, Told(event_id, "head-moved", None), attempt)


async def taken(catalog: Catalog, webhook: Webhook) -> Turn:
    turn = await catalog.webhook_turns.take(await catalog.webhooks.find(webhook.id))
    assert turn is not None
    return turn


async def test_it_is_behind_until_it_was_told(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    assert await catalog.webhook_turns.behind(0) == []
    number = await happen(catalog)
    assert await catalog.webhook_turns.behind(number) == [webhook]
    await ended(catalog, await taken(catalog, webhook), number, 200, clock.now)
    assert await catalog.webhook_turns.behind(number) == []


async def test_one_alone_tells_it(catalog: Catalog, webhook: Webhook) -> None:
    number = await happen(catalog)
    await taken(catalog, webhook)
    assert await catalog.webhook_turns.take(webhook) is None
    assert await catalog.webhook_turns.behind(number) == []


async def test_who_died_loses_the_turn_and_cannot_end_it(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    number = await happen(catalog)
    dead = await taken(catalog, webhook)
    clock.now += LEASE_S
    assert len(await catalog.webhook_turns.behind(number)) == 1
    await taken(catalog, webhook)
    await ended(catalog, dead, number, 200, clock.now)
    assert (await catalog.webhooks.find(webhook.id)).standing.cursor == 0


async def test_a_turn_is_given_back(catalog: Catalog, webhook: Webhook) -> None:
    number = await happen(catalog)
    await catalog.webhook_turns.give_back(await taken(catalog, webhook))
    assert await catalog.webhook_turns.behind(number) == [webhook]


async def test_who_comes_late_finds_that_it_was_told(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    number = await happen(catalog)
    await ended(catalog, await taken(catalog, webhook), number, 200, clock.now)
    assert await catalog.webhook_turns.take(webhook) is None


async def test_what_failed_waits(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    number = await happen(catalog)
    await ended(catalog, await taken(catalog, webhook), number, 500, clock.now)
    for later_s, count in ((9.9, 0), (0.2, 1)):
        clock.now += later_s
        assert len(await catalog.webhook_turns.behind(number)) == count


@pytest.mark.parametrize("status", [410, 500])
async def test_what_ended_or_is_paused_is_told_no_more(
    catalog: Catalog, webhook: Webhook, clock: Clock, status: int
) -> None:
    number = await happen(catalog)
    for _ in range(2 if status == 500 else 1):
        await ended(catalog, await taken(catalog, webhook), number, status, clock.now)
        clock.now += 200.0
    found = await catalog.webhooks.find(webhook.id)
    assert found.standing.state == ("ended" if status == 410 else "paused")
    assert await catalog.webhook_turns.behind(number) == []
    await catalog.webhooks.change(found, WebhookChange(active=True))
    assert len(await catalog.webhook_turns.behind(number)) == 1


async def test_who_paused_it_meanwhile_has_it_paused(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    number = await happen(catalog)
    turn = await taken(catalog, webhook)
    await catalog.webhooks.change(webhook, WebhookChange(active=False))
    await ended(catalog, turn, number, 200, clock.now)
    found = (await catalog.webhooks.find(webhook.id)).standing
    assert (found.state, found.cursor) == ("paused", number)


async def test_what_is_not_for_it_is_passed_over_unless_somebody_tells_it(
    catalog: Catalog, webhook: Webhook, clock: Clock
) -> None:
    number = await happen(catalog)
    turn = await taken(catalog, webhook)
    await catalog.webhook_turns.pass_over([webhook.id], number)
    assert (await catalog.webhooks.find(webhook.id)).standing.cursor == 0
    await catalog.webhook_turns.give_back(turn)
    await catalog.webhook_turns.pass_over([webhook.id], number)
    assert (await catalog.webhooks.find(webhook.id)).standing.cursor == number


async def test_accounts_that_are_disabled_are_told_nothing(catalog: Catalog, webhook: Webhook, alice: Account) -> None:
    number = await happen(catalog)
    await catalog.accounts.disable(alice.name)
    assert await catalog.webhook_turns.behind(number) == []
    await catalog.accounts.enable(alice.name)
    assert len(await catalog.webhook_turns.behind(number)) == 1


async def test_the_last_attempts_are_kept(catalog: Catalog, webhook: Webhook) -> None:
    deliveries = catalog.webhook_deliveries
    made = [
        await deliveries.note(webhook.id, TOLD, Attempt(float(at), 0.5, 200))
        for at in range(WEBHOOK_DELIVERIES_KEPT + 5)
    ]
    assert await deliveries.of(webhook.id) == made[:-101:-1]
    assert await deliveries.find(webhook.id, made[-1].id) == made[-1]
    for webhook_id, number in ((webhook.id, made[0].id), ("another", made[-1].id)):
        with pytest.raises(NotFound):
            await deliveries.find(webhook_id, number)


async def test_the_log_says_when_it_is_tried_again(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    number = await happen(catalog)
    await ended(catalog, await taken(catalog, webhook), number, 500, clock.now)
    (found,) = await catalog.webhook_deliveries.of(webhook.id)
    assert (found.attempt.status, found.next_at) == (500, clock.now + 10.0)


async def test_of_one_that_is_gone_nothing_is_kept(catalog: Catalog, webhook: Webhook, clock: Clock) -> None:
    number = await happen(catalog)
    turn = await taken(catalog, webhook)
    await catalog.webhooks.remove(webhook)
    await ended(catalog, turn, number, 200, clock.now)
    assert await catalog.webhook_deliveries.of(webhook.id) == []
