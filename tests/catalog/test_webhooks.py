"""Who is told what: webhooks of accounts and of datasets, made, changed, counted and removed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.events import EventType
from catalog.webhook_schedule import WebhookState
from catalog.webhooks import NewWebhook, Reach, WebhookChange
from opendatafabric.errors import LimitExceeded, NotFound
from opendatafabric.server_limits import ACCOUNT_WEBHOOKS_MAX
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

URL = "https://chat.example.org/hooks/s3cr3t"


def of_account(account: Account) -> NewWebhook:
    return NewWebhook(URL, Reach.ALL, account.id)


def of_dataset(account: Account | None, number: int = 1) -> NewWebhook:
    return NewWebhook(URL, Reach.DATASET, None if account is None else account.id, dataset_id(number))


async def test_what_was_asked_for_is_kept(catalog: Catalog, alice: Account, clock: Clock) -> None:
    new = NewWebhook(
        URL, Reach.OWN, alice.id, None, frozenset({EventType.HEAD_MOVED, EventType.GONE}), "a secret", trusted=True
    )
    made = await catalog.webhooks.add(new)
    assert await catalog.webhooks.find(made.id, alice.id) == made
    assert (made.wanted, made.created_at, made.standing.state) == (new, clock.now, WebhookState.ACTIVE)


async def test_it_is_told_what_happens_from_now_on(catalog: Catalog, alice: Account) -> None:
    for _ in range(3):
        await catalog.events.note(EventType.HEAD_MOVED, dataset_id(1), {})
    assert (await catalog.webhooks.add(of_account(alice))).standing.cursor == 3


async def test_accounts_and_datasets_have_each_their_own(catalog: Catalog, alice: Account, bob: Account) -> None:
    webhooks = catalog.webhooks
    news = (of_account(alice), of_account(bob), of_dataset(alice), of_dataset(bob, 2))
    a, b, c, d = [(await webhooks.add(new)).id for new in news]

    owners = (alice.id, bob.id, dataset_id(1), dataset_id(2), None)
    listed = [{each.id for each in await webhooks.of(owner)} for owner in owners]
    assert listed == [{a}, {b}, {c}, {d}, {a, b, c, d}]
    assert {each.id for each in await webhooks.made_by(alice.id)} == {a, c}
    for owner in (bob.id, dataset_id(2)):
        with pytest.raises(NotFound):
            await webhooks.find(a, owner)


async def test_a_dataset_has_one_alert(catalog: Catalog, alice: Account) -> None:
    alert = replace(of_dataset(alice), is_alert=True)
    await catalog.webhooks.add(of_dataset(alice))
    await catalog.webhooks.add(alert)
    await catalog.webhooks.add(replace(alert, url="https://example.org/other"))
    found = await catalog.webhooks.alert_of(dataset_id(1))
    assert found is not None
    assert (found.wanted.url, len(await catalog.webhooks.of(dataset_id(1)))) == ("https://example.org/other", 2)
    assert await catalog.webhooks.alert_of(dataset_id(2)) is None


async def test_an_account_makes_no_more_than_it_may(catalog: Catalog, alice: Account, bob: Account) -> None:
    for number in range(ACCOUNT_WEBHOOKS_MAX):
        await catalog.webhooks.add(of_dataset(alice, number))
    with pytest.raises(LimitExceeded):
        await catalog.webhooks.add(of_account(alice))
    await catalog.webhooks.add(of_account(bob))


async def test_changes_are_made_one_by_one(catalog: Catalog, alice: Account) -> None:
    made = await catalog.webhooks.add(of_account(alice))
    assert await catalog.webhooks.change(made, WebhookChange()) == made
    changes = (
        (WebhookChange(url="https://example.org/x"), {"url": "https://example.org/x"}),
        (WebhookChange(types=frozenset({EventType.GONE})), {"types": frozenset({EventType.GONE})}),
        (WebhookChange(secret="new"), {"secret": "new"}),
        (WebhookChange(secret=""), {"secret": None}),
    )
    wanted = made.wanted
    for change, fields in changes:
        wanted = replace(wanted, **fields)  # type: ignore[arg-type]
        assert (await catalog.webhooks.change(made, change)).wanted == wanted


async def test_it_is_paused_and_resumed(catalog: Catalog, alice: Account) -> None:
    made = await catalog.webhooks.add(of_account(alice))
    paused = await catalog.webhooks.change(made, WebhookChange(active=False))
    assert paused.standing.state is WebhookState.PAUSED
    assert await catalog.webhooks.counts() == {"active": 0, "paused": 1, "ended": 0}
    resumed = await catalog.webhooks.change(paused, WebhookChange(active=True))
    assert resumed.standing.state is WebhookState.ACTIVE


async def test_what_is_removed_is_gone(catalog: Catalog, alice: Account) -> None:
    made = await catalog.webhooks.add(of_account(alice))
    await catalog.webhooks.remove(made)
    with pytest.raises(NotFound):
        await catalog.webhooks.find(made.id)


async def test_a_dataset_that_is_forgotten_leaves_none(catalog: Catalog, alice: Account) -> None:
    await catalog.webhooks.add(of_dataset(alice))
    assert (await catalog.belongings.of(dataset_id(1)))["webhooks"] == 1
    await catalog.belongings.forget(dataset_id(1))
    assert await catalog.webhooks.of(None) == []


async def test_neither_address_nor_secret_is_printed(catalog: Catalog, alice: Account) -> None:
    made = await catalog.webhooks.add(replace(of_account(alice), secret="s3cr3t"))
    assert "s3cr3t" not in repr(made) + repr(WebhookChange(url=URL, secret="s3cr3t"))
