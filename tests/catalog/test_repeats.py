"""Who does a request that is sent again, and what is kept of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.repeats import GIVEN_UP_S, KEPT_S, KeptAnswer, OtherRequest, RepeatKey
from opendatafabric.errors import Conflict, LimitExceeded
from tests.catalog.conftest import Clock

ANSWER = KeptAnswer(201, {"Location": "/x"}, b"{}")


@pytest.fixture
def key(alice: Account) -> RepeatKey:
    return RepeatKey(alice.id, "k", b"fingerprint")


async def test_the_first_does_it_and_the_next_gets_the_answer(catalog: Catalog, key: RepeatKey) -> None:
    assert await catalog.repeats.begin(key) is None
    await catalog.repeats.end(key, ANSWER)
    assert await catalog.repeats.begin(key) == ANSWER


async def test_an_answer_may_be_kept_without_its_body(catalog: Catalog, key: RepeatKey) -> None:
    await catalog.repeats.begin(key)
    await catalog.repeats.end(key, replace(ANSWER, body=None))
    assert await catalog.repeats.begin(key) == replace(ANSWER, body=None)


async def test_of_many_processes_one_does_it(catalog: Catalog, url: str, clock: Clock, key: RepeatKey) -> None:
    async with open_catalog(url, now=clock) as other:
        both = (catalog, other)
        tries = await asyncio.gather(*(both[n % 2].repeats.begin(key) for n in range(10)), return_exceptions=True)
    assert [each for each in tries if each is None] == [None]
    assert {type(each) for each in tries if each is not None} == {Conflict}


async def test_a_key_with_another_request_is_refused_also_while_the_first_goes_on(
    catalog: Catalog, key: RepeatKey
) -> None:
    await catalog.repeats.begin(key)
    for _ in range(2):
        with pytest.raises(OtherRequest):
            await catalog.repeats.begin(replace(key, fingerprint=b"another"))
        await catalog.repeats.end(key, ANSWER)


async def test_what_came_to_nothing_is_done_by_the_next(catalog: Catalog, key: RepeatKey) -> None:
    await catalog.repeats.begin(key)
    await catalog.repeats.give_up(key)
    assert await catalog.repeats.begin(replace(key, fingerprint=b"another")) is None


async def test_giving_up_late_takes_no_answer_away(catalog: Catalog, key: RepeatKey) -> None:
    await catalog.repeats.begin(key)
    await catalog.repeats.end(key, ANSWER)
    await catalog.repeats.give_up(key)
    assert await catalog.repeats.begin(key) == ANSWER


async def test_one_that_was_cut_off_is_done_by_the_next_after_a_while(
    catalog: Catalog, clock: Clock, key: RepeatKey
) -> None:
    await catalog.repeats.begin(key)
    clock.now += GIVEN_UP_S - 1
    with pytest.raises(Conflict):
        await catalog.repeats.begin(key)
    clock.now += 1
    assert await catalog.repeats.begin(key) is None


async def test_after_a_day_a_key_is_a_new_one(catalog: Catalog, clock: Clock, key: RepeatKey) -> None:
    await catalog.repeats.begin(key)
    await catalog.repeats.end(key, ANSWER)
    clock.now += KEPT_S
    assert await catalog.repeats.begin(replace(key, fingerprint=b"another")) is None


async def test_an_account_has_room_for_so_many_keys_and_no_other_account_suffers(
    catalog: Catalog, clock: Clock, key: RepeatKey, bob: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.repeats.IDEMPOTENCY_KEYS_MAX", 3)
    for number in range(3):
        await catalog.repeats.begin(replace(key, key=str(number)))
    with pytest.raises(LimitExceeded):
        await catalog.repeats.begin(key)
    assert await catalog.repeats.begin(replace(key, account_id=bob.id)) is None
    clock.now += KEPT_S + 1
    await catalog.repeats.clear()
    assert await catalog.repeats.begin(key) is None
