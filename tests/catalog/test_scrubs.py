"""How far scrubbing came is kept for all servers, and one of them scrubs."""

from __future__ import annotations

import asyncio

from catalog.catalog import Catalog, open_catalog
from catalog.scrubs import ScrubState, note_damage
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import HashMismatch
from storage.scrub import Scrubbed
from tests.catalog.conftest import Clock

WEEK_S = 604_800.0


async def claim(catalog: Catalog, owner: str = "me") -> ScrubState | None:
    return await catalog.scrubs.claim_due(owner, lease_s=60, first_in_s=WEEK_S)


async def begin(catalog: Catalog, clock: Clock) -> None:
    """The first scrub is due by now, and begun."""
    assert await claim(catalog) is None
    clock.now += WEEK_S
    assert await claim(catalog) is not None


async def test_the_first_scrub_waits_for_its_time(catalog: Catalog, clock: Clock) -> None:
    assert await claim(catalog) is None
    clock.now += WEEK_S - 1
    assert await claim(catalog) is None
    clock.now += 1
    assert await claim(catalog) == ScrubState("", "", clock.now, None)


async def test_of_many_servers_one_scrubs(catalog: Catalog, url: str, clock: Clock) -> None:
    await claim(catalog)
    clock.now += WEEK_S
    async with open_catalog(url, now=clock) as other:
        claimed = await asyncio.gather(*(claim(each, str(n)) for n in range(4) for each in (catalog, other)))
    assert len([state for state in claimed if state is not None]) == 1


async def test_a_server_that_died_is_replaced_and_the_next_one_goes_on_where_it_was(
    catalog: Catalog, clock: Clock
) -> None:
    await begin(catalog, clock)
    assert await catalog.scrubs.keep("me", dataset="a", after="data/x", lease_s=60)
    clock.now += 59
    assert await claim(catalog, "other") is None
    clock.now += 1
    state = await claim(catalog, "other")
    assert state is not None
    assert (state.dataset, state.after) == ("a", "data/x")
    assert not await catalog.scrubs.keep("me", dataset="b", after="", lease_s=60)
    await catalog.scrubs.finish("me", next_in_s=1)
    assert (await catalog.scrubs.state()).last_end_at is None


async def test_whoever_gives_up_is_followed_at_once(catalog: Catalog, clock: Clock) -> None:
    await begin(catalog, clock)
    await catalog.scrubs.release("me", dataset="b", after="")
    state = await claim(catalog, "other")
    assert state is not None
    assert state.dataset == "b"


async def test_after_the_end_it_begins_again_from_the_start_when_it_is_time(catalog: Catalog, clock: Clock) -> None:
    await begin(catalog, clock)
    await catalog.scrubs.keep("me", dataset="z", after="data/z", lease_s=60)
    await catalog.scrubs.finish("me", next_in_s=10)
    assert await catalog.scrubs.state() == ScrubState("", "", clock.now + 10, clock.now)
    assert await claim(catalog) is None
    clock.now += 10
    assert await claim(catalog) is not None


async def test_damage_is_written_to_the_trail_and_soundness_is_not(catalog: Catalog) -> None:
    alias, damage = DatasetAlias.from_text("alice/a"), HashMismatch("data/x is damaged")
    await note_damage(catalog.audit, alias, Scrubbed("data/x", 1))
    await note_damage(catalog.audit, alias, Scrubbed("data/x", 1, damage))
    await note_damage(catalog.audit, alias, Scrubbed("data/x", 1, damage, healed=True))
    entries = await catalog.audit.list()
    assert [(entry.action, entry.subject) for entry in entries] == [("healed", "alice/a"), ("damaged", "alice/a")]
    assert entries[0].details == {"key": "data/x", "code": "hash-mismatch", "message": "data/x is damaged"}
