"""When a head moves, what watches it is due: once, in the order of the chain, and never lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from catalog.catalog import Catalog, open_catalog
from catalog.jobs import HELD_S_MAX, SETTLE_S, TRANSFORM, VERIFY, ClaimedJob, JobId
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.multihash import Multihash, physical_hash
from tests.catalog.conftest import Clock

pytestmark = pytest.mark.slow

ON_CHANGE = Schedule(None, on_change=True)


def id_of(name: str) -> DatasetId:
    return new_dataset_id(name.encode().ljust(32))


def head(number: int) -> Multihash:
    return physical_hash(str(number).encode())


def job(name: str, kind: str = TRANSFORM) -> JobId:
    return JobId(kind, id_of(name))


async def follow(catalog: Catalog, name: str, *watched: str, kind: str = TRANSFORM) -> None:
    """Compute it from ``watched`` whenever they change; the run at the start was made."""
    await catalog.schedules.set(job(name, kind), ON_CHANGE)
    claimed = await claim(catalog, kind)
    assert claimed is not None
    await catalog.watches.set(job(name, kind), {id_of(each): head(0) for each in (name, *watched)})
    await catalog.jobs.finish(claimed)


async def claim(catalog: Catalog, *kinds: str, owner: str = "me") -> ClaimedJob | None:
    return await catalog.jobs.claim_due(kinds or (TRANSFORM, VERIFY), owner, lease_s=60)


async def done(catalog: Catalog, clock: Clock, *, moves: bool = False) -> list[str]:
    """Do all that is due soon; the names in the order in which it was done. ``moves`` says that each made a block."""
    clock.now += SETTLE_S
    names: list[str] = []
    while (claimed := await claim(catalog)) is not None:
        names.append(name_of(claimed))
        await catalog.jobs.finish(claimed)
        if moves and claimed.id.kind == TRANSFORM:
            await catalog.watches.moved(claimed.id.dataset_id, head(int(clock.now)), by=claimed.id)
        clock.now += SETTLE_S
    return names


def name_of(claimed: ClaimedJob) -> str:
    found = next(name for name in "abcdef" if id_of(name) == claimed.id.dataset_id)
    return found if claimed.id.kind == TRANSFORM else f"{claimed.id.kind} {found}"


async def test_a_job_that_follows_changes_is_due_at_once_and_then_when_something_changed(
    catalog: Catalog, clock: Clock
) -> None:
    await follow(catalog, "b", "a")
    clock.now += 86_400
    assert await claim(catalog) is None
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock) == ["b"]
    assert await done(catalog, clock) == []


async def test_the_same_head_counts_once_whoever_tells_of_it(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.watches.moved(id_of("a"), head(0))
    assert await done(catalog, clock) == []
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock) == ["b"]
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock) == []


async def test_moves_that_come_close_together_make_one_run(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    for number in range(1, 5):
        await catalog.watches.moved(id_of("a"), head(number))
        assert await claim(catalog) is None
        clock.now += SETTLE_S / 5
    assert await done(catalog, clock) == ["b"]


async def test_a_move_during_the_run_makes_another_one_afterwards(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.watches.moved(id_of("a"), head(1))
    clock.now += SETTLE_S
    running = await claim(catalog)
    assert running is not None
    await catalog.watches.moved(id_of("a"), head(2))
    assert await claim(catalog) is None
    await catalog.jobs.finish(running)
    assert await done(catalog, clock) == ["b"]


async def test_what_the_job_itself_made_does_not_make_it_run_again(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.watches.moved(id_of("b"), head(1), by=job("b"))
    assert await done(catalog, clock) == []
    await catalog.watches.moved(id_of("b"), head(2))
    assert await done(catalog, clock) == ["b"]


async def test_a_chain_of_derivatives_follows_in_order_and_each_once(catalog: Catalog, clock: Clock) -> None:
    for name, inputs in (("d", "abc"), ("c", "b"), ("b", "a")):
        await follow(catalog, name, *inputs)
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock, moves=True) == ["b", "c", "d"]


async def test_one_is_verified_when_it_and_its_inputs_are_computed(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await follow(catalog, "b", "a", kind=VERIFY)
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock, moves=True) == ["b", "verify b"]


async def test_an_input_that_fails_is_not_waited_for(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "c", "a", "b")
    await follow(catalog, "b", "a")
    await catalog.watches.moved(id_of("a"), head(1))
    clock.now += SETTLE_S
    failing = await claim(catalog)
    assert failing is not None
    assert name_of(failing) == "b"
    assert await claim(catalog) is None
    await catalog.jobs.finish(failing, error="it does not hold")
    assert await done(catalog, clock) == ["c"]


async def test_datasets_that_are_inputs_of_each_other_are_computed_after_a_while(
    catalog: Catalog, clock: Clock
) -> None:
    await follow(catalog, "b", "c")
    await follow(catalog, "c", "b", "a")
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock) == []
    clock.now += HELD_S_MAX
    assert sorted(await done(catalog, clock)) == ["b", "c"]


async def test_what_fails_keeps_its_own_time_though_inputs_change(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.watches.moved(id_of("a"), head(1))
    clock.now += SETTLE_S
    failing = await claim(catalog)
    assert failing is not None
    await catalog.watches.moved(id_of("a"), head(2))
    await catalog.jobs.finish(failing, error="it does not hold")
    await catalog.watches.moved(id_of("a"), head(3))
    assert await done(catalog, clock) == []
    clock.now += 30
    assert await done(catalog, clock) == ["b"]


async def test_a_paused_job_follows_nothing_and_looks_when_it_is_resumed(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.schedules.pause(job("b"))
    await catalog.watches.moved(id_of("a"), head(1))
    assert (await done(catalog, clock), await catalog.watches.watched()) == ([], {})
    await catalog.schedules.resume(job("b"))
    assert await done(catalog, clock) == ["b"]


async def test_a_schedule_with_times_follows_nothing(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.schedules.set(job("b"), Schedule("0 0 1 1 *"))
    await catalog.watches.moved(id_of("a"), head(1))
    assert (await done(catalog, clock), await catalog.watches.watched()) == ([], {})


async def test_times_and_changes_may_both_make_it_due(catalog: Catalog, clock: Clock) -> None:
    await follow(catalog, "b", "a")
    await catalog.schedules.set(job("b"), Schedule("0 * * * *", on_change=True))
    assert await done(catalog, clock) == ["b"]
    clock.now += 3_600
    assert await done(catalog, clock) == ["b"]
    await catalog.watches.moved(id_of("a"), head(1))
    assert await done(catalog, clock) == ["b"]


async def test_what_is_watched_is_told_with_the_heads_that_were_seen(catalog: Catalog) -> None:
    await follow(catalog, "b", "a")
    await follow(catalog, "c", "a")
    await catalog.watches.set(job("c"), {id_of("a"): head(1), id_of("c"): None})
    seen = await catalog.watches.watched()
    assert seen[id_of("a")] == {str(head(0)), str(head(1))}
    assert (seen[id_of("b")], seen[id_of("c")]) == ({str(head(0))}, {None})


@pytest.mark.parametrize("end", ["remove", "forget"])
async def test_with_its_schedule_a_watch_ends(catalog: Catalog, clock: Clock, end: str) -> None:
    await follow(catalog, "b", "a")
    if end == "remove":
        await catalog.schedules.remove(job("b"))
    else:
        assert await catalog.schedules.forget(id_of("b"))
        assert not await catalog.schedules.forget(id_of("b"))
    await catalog.watches.moved(id_of("a"), head(1))
    assert (await done(catalog, clock), await catalog.watches.watched()) == ([], {})


STEPS = st.lists(st.sampled_from(["move", "claim", "finish", "die", "later"]), max_size=20)


@settings(max_examples=15)
@given(steps=STEPS)
@example(steps=["move", "move", "claim", "die", "move"])
async def test_after_the_last_move_there_is_always_a_run_that_begins(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    clock, moved_at, began_at = Clock(), 0.0, 0.0
    async with open_catalog(sqlite_url(tmp_path_factory.mktemp("watches") / "catalog.sqlite"), now=clock) as catalog:
        await follow(catalog, "b", "a")
        held: ClaimedJob | None = None
        for number, step in enumerate([*steps, "later", "finish", "die", "later", "claim"]):
            clock.now += 0.5
            if step == "move":
                await catalog.watches.moved(id_of("a"), head(number + 1))
                moved_at = clock.now
            elif step == "claim":
                claimed = await claim(catalog, owner=str(number))
                held, began_at = (held, began_at) if claimed is None else (claimed, clock.now)
            elif step == "finish" and held is not None:
                await catalog.jobs.finish(held)
            elif step in {"die", "later"}:
                clock.now += 61
        assert began_at >= moved_at
