"""Mirrors are due, leased to one, noted, woken by heads that move; tokens stay out of what is shown."""

from __future__ import annotations

import asyncio

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.mirrors import ON_CHANGE, Direction, MirroredDataset, NewMirror
from opendatafabric.errors import Conflict, NotFound
from tests.catalog.conftest import Clock

PUSH = NewMirror(Direction.PUSH, "odf+http://other/", "%", ON_CHANGE, "s3cr3t")
HOURLY = NewMirror(Direction.PULL, "http://other/", "weather", "0 * * * *")


async def test_a_new_mirror_is_due_at_once(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    assert await catalog.mirrors.next_run_at() == clock.now
    mirror = await catalog.mirrors.claim_due("me", lease_s=60)
    assert mirror is not None
    assert (mirror.id, mirror.target, mirror.token, mirror.last_success_at) == (mirror_id, PUSH.target, "s3cr3t", None)


async def test_a_token_is_not_shown(catalog: Catalog) -> None:
    await catalog.mirrors.add(PUSH)
    assert "s3cr3t" not in repr(await catalog.mirrors.list()) + repr(PUSH)


async def test_of_many_servers_one_runs_a_mirror(catalog: Catalog, url: str, clock: Clock) -> None:
    await catalog.mirrors.add(PUSH)
    async with open_catalog(url, now=clock) as other:
        claims = [each.mirrors.claim_due(str(number), lease_s=60) for number in range(4) for each in (catalog, other)]
        claimed = await asyncio.gather(*claims)
    assert len([mirror for mirror in claimed if mirror is not None]) == 1


async def test_a_server_that_died_is_replaced_when_its_lease_ends(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    await catalog.mirrors.claim_due("dead", lease_s=60)
    clock.now += 40
    assert await catalog.mirrors.renew(mirror_id, "dead", lease_s=60)
    clock.now += 59
    assert await catalog.mirrors.claim_due("me", lease_s=60) is None
    with pytest.raises(Conflict):
        await catalog.mirrors.claim(mirror_id, "me", lease_s=60)
    clock.now += 1
    assert await catalog.mirrors.claim_due("me", lease_s=60) is not None
    assert not await catalog.mirrors.renew(mirror_id, "dead", lease_s=60)


async def test_what_a_replaced_server_says_does_not_count(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    await catalog.mirrors.claim_due("dead", lease_s=60)
    clock.now += 60
    await catalog.mirrors.claim_due("me", lease_s=60)
    await catalog.mirrors.finish(mirror_id, "dead", error="late", failures=7, next_run_at=0)
    (mirror,) = await catalog.mirrors.list()
    assert (mirror.last_error, mirror.failures) == (None, 0)
    assert mirror.lease_until == clock.now + 60


async def test_a_run_is_noted_and_the_next_one_waits(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(HOURLY)
    await catalog.mirrors.claim_due("me", lease_s=60)
    clock.now += 5
    await catalog.mirrors.finish(mirror_id, "me", error=None, failures=0, next_run_at=clock.now + 100)
    (mirror,) = await catalog.mirrors.list()
    assert (mirror.last_success_at, mirror.last_run_at, mirror.lease_until) == (clock.now, clock.now, None)
    assert await catalog.mirrors.claim_due("me", lease_s=60) is None
    clock.now += 100
    assert await catalog.mirrors.claim_due("me", lease_s=60) is not None


async def test_a_failed_run_keeps_the_time_of_the_last_good_one(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(HOURLY)
    good_at = clock.now
    for error, failures in ((None, 0), ("away", 1)):
        await catalog.mirrors.claim(mirror_id, "me", lease_s=60)
        await catalog.mirrors.finish(mirror_id, "me", error=error, failures=failures, next_run_at=clock.now)
        clock.now += 10
    (mirror,) = await catalog.mirrors.list()
    assert (mirror.last_success_at, mirror.last_error, mirror.failures) == (good_at, "away", 1)


async def test_a_head_that_moved_wakes_pushes_that_follow_it_and_no_others(catalog: Catalog, clock: Clock) -> None:
    ids = [await catalog.mirrors.add(new) for new in (PUSH, HOURLY, PUSH)]
    for mirror_id, failures in zip(ids, (0, 0, 1), strict=True):
        await catalog.mirrors.claim(mirror_id, "me", lease_s=60)
        error = "away" if failures else None
        await catalog.mirrors.finish(mirror_id, "me", error=error, failures=failures, next_run_at=clock.now + 999)
    await catalog.mirrors.wake()
    due = [mirror.id for mirror in await catalog.mirrors.list() if mirror.next_run_at <= clock.now]
    assert due == [ids[0]]


@pytest.mark.parametrize("renewed", [False, True])
async def test_a_head_that_moves_during_a_run_is_not_forgotten(catalog: Catalog, clock: Clock, renewed: bool) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    for moved in (True, False):
        await catalog.mirrors.claim_due("me", lease_s=60)
        clock.now += 10
        if moved:
            await catalog.mirrors.wake()
        if renewed:
            await catalog.mirrors.renew(mirror_id, "me", lease_s=60)
        clock.now += 10
        await catalog.mirrors.finish(mirror_id, "me", error=None, failures=0, next_run_at=clock.now + 999)
        (mirror,) = await catalog.mirrors.list()
        assert (mirror.next_run_at <= clock.now) == moved


async def test_a_run_that_was_broken_off_is_due_again(catalog: Catalog) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    await catalog.mirrors.claim_due("me", lease_s=60)
    await catalog.mirrors.release(mirror_id, "me")
    assert await catalog.mirrors.claim_due("other", lease_s=60) is not None


async def test_how_far_a_mirror_came_is_kept_for_each_dataset(catalog: Catalog) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    reached = MirroredDataset("f1620ab", 12.5, "away", {"root": "bafy"})
    await catalog.mirrors.keep(mirror_id, "alice/weather", MirroredDataset())
    await catalog.mirrors.keep(mirror_id, "alice/weather", reached)
    assert await catalog.mirrors.datasets(mirror_id) == {"alice/weather": reached}


async def test_a_removed_mirror_leaves_nothing(catalog: Catalog) -> None:
    mirror_id = await catalog.mirrors.add(PUSH)
    await catalog.mirrors.keep(mirror_id, "weather", MirroredDataset())
    await catalog.mirrors.remove(mirror_id)
    await catalog.mirrors.keep(mirror_id, "weather", MirroredDataset())
    assert await catalog.mirrors.list() == []
    assert await catalog.mirrors.datasets(mirror_id) == {}
    for act in (catalog.mirrors.remove(mirror_id), catalog.mirrors.claim(mirror_id, "me", lease_s=60)):
        with pytest.raises(NotFound):
            await act
