"""How far behind mirrors were is kept, in few samples."""

from __future__ import annotations

import pytest

from catalog import mirror_lags
from catalog.catalog import Catalog
from catalog.mirrors import Direction, MirroredDataset, NewMirror
from tests.catalog.conftest import Clock

MIRROR = NewMirror(Direction.PULL, "http://other/", "weather", "0 * * * *")


async def run(
    catalog: Catalog, clock: Clock, mirror_id: int, *, behind_since: float | None, lasts_s: float = 10
) -> None:
    await catalog.mirrors.claim(mirror_id, "me", lease_s=60)
    await catalog.mirrors.keep(mirror_id, "weather", MirroredDataset(behind_since=behind_since))
    clock.now += lasts_s
    await catalog.mirrors.finish(mirror_id, "me", error=None, failures=0, next_run_at=clock.now)


async def lags(catalog: Catalog, mirror_id: int) -> list[float]:
    return [each.lag_s for each in await catalog.mirror_lags.of(mirror_id)]


async def test_the_end_of_each_run_says_how_far_the_mirror_is_behind(catalog: Catalog, clock: Clock) -> None:
    mirror_id, began = await catalog.mirrors.add(MIRROR), clock.now
    for behind_since in (None, began, began, None):
        await run(catalog, clock, mirror_id, behind_since=behind_since)
    assert await lags(catalog, mirror_id) == [0, 20, 30, 0]
    assert [each.at - began for each in await catalog.mirror_lags.of(mirror_id)] == [10, 20, 30, 40]


async def test_of_runs_that_say_the_same_the_first_and_the_last_are_kept(catalog: Catalog, clock: Clock) -> None:
    mirror_id, began = await catalog.mirrors.add(MIRROR), clock.now
    for _ in range(6):
        await run(catalog, clock, mirror_id, behind_since=None)
    assert [(each.at - began, each.lag_s) for each in await catalog.mirror_lags.of(mirror_id)] == [(10, 0), (60, 0)]


async def test_old_samples_are_forgotten(catalog: Catalog, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_lags, "SAMPLES_MAX", 3)
    mirror_id, began = await catalog.mirrors.add(MIRROR), clock.now
    for _ in range(5):
        await run(catalog, clock, mirror_id, behind_since=began)
    assert await lags(catalog, mirror_id) == [30, 40, 50]


async def test_a_clock_that_stands_still_or_goes_back_does_no_harm(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(MIRROR)
    for lasts_s in (10, 0, -5):
        await run(catalog, clock, mirror_id, behind_since=None, lasts_s=lasts_s)
    assert await lags(catalog, mirror_id) == [0]


async def test_nothing_is_left_of_a_mirror_that_was_removed(catalog: Catalog, clock: Clock) -> None:
    mirror_id = await catalog.mirrors.add(MIRROR)
    await run(catalog, clock, mirror_id, behind_since=None)
    await catalog.mirrors.remove(mirror_id)
    assert await lags(catalog, mirror_id) == []
