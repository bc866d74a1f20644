"""Whose turn it is: accounts in turn, what somebody waits for first, verifications last, and nothing waits for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.jobs import POLL, TRANSFORM, VERIFY, ClaimedJob, JobId
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from catalog.turns import VERIFY_WAITS_S, WISHED_S
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.names import AccountName
from tests.catalog.conftest import Clock

MINUTELY = Schedule("* * * * *")


def job(name: str, kind: str = POLL) -> JobId:
    return JobId(kind, new_dataset_id(name.encode().ljust(32)))


async def schedule(catalog: Catalog, name: str, owner: Account | None = None, kind: str = POLL) -> None:
    """Done each minute for a dataset of that account; one that the catalog does not know is nobody's."""
    if owner is not None:
        alias = DatasetAlias.from_text(name)
        await catalog.datasets.put(DatasetRecord(job(name).dataset_id, alias, owner.id, Visibility.PRIVATE))
    await catalog.schedules.set(job(name, kind), MINUTELY)


async def claim(catalog: Catalog) -> ClaimedJob | None:
    return await catalog.jobs.claim_due([POLL, TRANSFORM, VERIFY], "me", lease_s=600)


async def turns(catalog: Catalog, clock: Clock, *, finish: bool = True) -> list[JobId]:
    """All that is due, in the order in which it is begun, each ended before the next or none of them."""
    found: list[JobId] = []
    while (claimed := await claim(catalog)) is not None:
        found.append(claimed.id)
        clock.now += 0.001
        if finish:
            await catalog.jobs.finish(claimed)
    return found


@pytest.mark.parametrize("finish", [True, False])
async def test_accounts_take_turns_however_much_one_of_them_wants(
    catalog: Catalog, clock: Clock, alice: Account, bob: Account, finish: bool
) -> None:
    for number in range(4):
        await schedule(catalog, f"a{number}", alice)
    clock.now += 60
    for number in range(2):
        await schedule(catalog, f"b{number}", bob)
    await schedule(catalog, "nobodys")
    clock.now += 60
    begun = await turns(catalog, clock, finish=finish)
    owners = "".join(
        "b" if each in {job("b0"), job("b1")} else "-" if each == job("nobodys") else "a" for each in begun
    )
    assert sorted(owners[:3]) == ["-", "a", "b"]
    assert sorted(owners[3:5]) == ["a", "b"]
    assert owners[5:] == "aa"


async def test_what_somebody_waits_for_comes_before_the_rest_of_the_account(catalog: Catalog, clock: Clock) -> None:
    for name in ("a", "b"):
        await schedule(catalog, name)
    clock.now += WISHED_S / 2
    await catalog.jobs.request(job("c"))
    await catalog.jobs.ask(job("d"))
    assert set((await turns(catalog, clock))[:2]) == {job("c"), job("d")}


async def test_a_wish_counts_for_one_run(catalog: Catalog, clock: Clock) -> None:
    await catalog.jobs.request(job("c"))
    assert await turns(catalog, clock) == [job("c")]
    await schedule(catalog, "a")
    clock.now += 61
    await schedule(catalog, "c")
    clock.now += 61
    assert await turns(catalog, clock) == [job("a"), job("c")]


async def test_what_has_waited_very_long_comes_before_a_wish(catalog: Catalog, clock: Clock) -> None:
    await schedule(catalog, "a")
    clock.now += WISHED_S * 2
    await catalog.jobs.request(job("c"))
    assert await turns(catalog, clock) == [job("a"), job("c")]


async def test_verifications_come_after_what_makes_data_for_a_while(catalog: Catalog, clock: Clock) -> None:
    await schedule(catalog, "a", kind=VERIFY)
    clock.now += 61
    await schedule(catalog, "b")
    clock.now += 61
    assert await turns(catalog, clock) == [job("b"), job("a", VERIFY)]
    await schedule(catalog, "a", kind=VERIFY)
    clock.now += VERIFY_WAITS_S + 61
    await catalog.schedules.set(job("b"), MINUTELY)
    clock.now += 61
    assert await turns(catalog, clock) == [job("a", VERIFY), job("b")]


owners = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from([POLL, VERIFY])), min_size=1, max_size=9)


@settings(max_examples=10)
@given(owners=owners)
async def test_everything_that_is_due_is_begun_once_and_no_account_gets_two_before_another_gets_one(
    tmp_path_factory: pytest.TempPathFactory, owners: list[tuple[str, str]]
) -> None:
    clock = Clock()
    url = sqlite_url(tmp_path_factory.mktemp("turns") / "catalog.sqlite")
    async with open_catalog(url, now=clock) as catalog:
        accounts = {name: await catalog.accounts.create(AccountName(name * 3)) for name in "xyz"}
        wanted = {f"{number}": owner for number, (owner, _) in enumerate(owners)}
        for (name, owner), (_, kind) in zip(wanted.items(), owners, strict=True):
            await schedule(catalog, name, accounts[owner], kind)
        clock.now += 60
        begun = await turns(catalog, clock)
        by_id = {job(name).dataset_id: owner for name, owner in wanted.items()}
        order = [by_id[each.dataset_id] for each in begun]
    assert sorted(order) == sorted(wanted.values())
    for index, owner in enumerate(order):
        still = set(order[index:])
        rounds = {name: order[:index].count(name) for name in still}
        assert rounds[owner] == min(rounds.values())
