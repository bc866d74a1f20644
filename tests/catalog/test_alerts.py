"""What is to be told is kept until it was told: each time later, and to one address."""

from __future__ import annotations

from catalog.alerts import FIRST_WAIT_S, Webhook
from catalog.catalog import Catalog
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

MINE = Webhook("https://chat.example.org/hooks/s3cr3t", foreign=True)


async def test_nothing_is_kept_that_nobody_wants_to_know(catalog: Catalog) -> None:
    assert not await catalog.alerts.tell(dataset_id(1), {"verdict": "invalid"})
    assert await catalog.alerts.take_due() is None


async def test_an_alert_is_tried_later_each_time_until_it_is_done(catalog: Catalog, clock: Clock) -> None:
    await catalog.alerts.set(dataset_id(1), MINE)
    await catalog.alerts.tell(dataset_id(1), {"verdict": "invalid"})
    waits = [FIRST_WAIT_S * 2**attempt for attempt in range(4)]
    for attempt, wait_s in enumerate(waits, start=1):
        alert = await catalog.alerts.take_due()
        assert alert is not None
        assert (alert.webhook, alert.body, alert.attempts) == (MINE, b'{"verdict":"invalid"}', attempt)
        clock.now += wait_s / 2 - 0.1
        assert await catalog.alerts.take_due() is None
        clock.now += wait_s / 2 + 0.2
    await catalog.alerts.done(alert)
    clock.now += 1e6
    assert await catalog.alerts.take_due() is None


async def test_of_several_the_oldest_is_told_first(catalog: Catalog, clock: Clock) -> None:
    for number in (2, 1):
        await catalog.alerts.set(dataset_id(number), MINE)
        await catalog.alerts.tell(dataset_id(number), {"number": number})
        clock.now += 1
    told = [await catalog.alerts.take_due() for _ in range(2)]
    assert [each.body for each in told if each is not None] == [b'{"number":2}', b'{"number":1}']


async def test_another_address_takes_the_place_of_the_first(catalog: Catalog) -> None:
    await catalog.alerts.set(dataset_id(1), MINE)
    await catalog.alerts.tell(dataset_id(1), {})
    other = Webhook("https://example.org/other", foreign=False)
    await catalog.alerts.set(dataset_id(1), other)
    assert await catalog.alerts.find(dataset_id(1)) == other
    alert = await catalog.alerts.take_due()
    assert alert is not None
    assert alert.webhook == other


async def test_who_is_removed_is_told_nothing_more(catalog: Catalog) -> None:
    await catalog.alerts.set(dataset_id(1), MINE)
    await catalog.alerts.tell(dataset_id(1), {})
    await catalog.alerts.remove(dataset_id(1))
    assert (await catalog.alerts.find(dataset_id(1)), await catalog.alerts.take_due()) == (None, None)


def test_an_address_is_not_printed() -> None:
    assert "s3cr3t" not in repr(MINE)
