"""Quotas: whatever pushes do to each other, nobody gets more than allowed, and in the end usage is what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.accounts import Account
from catalog.amounts import Amounts, Limits, Quota, QuotaExceeded, check_room, told
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.quotas import Wish
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.names import AccountName
from tests.catalog.conftest import Clock

LEASE_S = 100.0
ROOM = 1_000
LIMITS = Limits(Quota(ROOM, 20, 0), Quota(700, 0, 0))


async def known(catalog: Catalog, owner: Account, number: int) -> DatasetId:
    dataset_id = new_dataset_id(number.to_bytes(32, "big"))
    alias = DatasetAlias.from_text(f"alice/d{number}")
    await catalog.datasets.put(DatasetRecord(dataset_id, alias, owner.id, Visibility.PRIVATE))
    return dataset_id


# --- the numbers


def test_what_was_not_set_is_as_the_node_says() -> None:
    assert Quota(bytes=5, datasets=0).or_else(Quota(1, 2, 3)) == Quota(5, 2, 0)


def test_the_refusal_begins_with_the_numbers() -> None:
    with pytest.raises(QuotaExceeded, match=r"^quota: 3\.0 KiB needed, 1\.0 KiB left to the account$") as refused:
        check_room("the account", Quota(4096, 0, 0), Amounts(3072), Amounts(3072))
    assert len(refused.value.message.split(" to ")[0]) <= 46


def test_what_fits_exactly_fits_and_what_is_not_wanted_is_not_looked_at() -> None:
    check_room("x", Quota(10, 1, 1), Amounts(4, 5, 6), Amounts(6))
    with pytest.raises(QuotaExceeded):
        check_room("x", Quota(10, 0, 0), Amounts(4), Amounts(7))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 * 2**40, "5.0 TiB"), (2**63, "8388608.0 TiB")],
)
def test_bytes_are_told_in_a_unit(count: int, text: str) -> None:
    assert told("bytes", count) == text


# --- one after another


async def test_room_is_kept_then_counted(catalog: Catalog, alice: Account) -> None:
    dataset_id = await known(catalog, alice, 1)
    reserved = await catalog.quotas.reserve(Wish(dataset_id, alice.id, {"data/a": 100}, 20), LIMITS, lease_s=LEASE_S)
    assert await catalog.quotas.of_account(alice.id) == Amounts(120, 1, 1)
    assert await catalog.quotas.has_room_for(dataset_id, "data/a", 100)
    assert not await catalog.quotas.has_room_for(dataset_id, "data/a", 101)
    assert not await catalog.quotas.has_room_for(dataset_id, "data/b", 1)
    await catalog.quotas.settle(reserved, dataset_id)
    assert await catalog.quotas.to_measure() == []
    await catalog.quotas.settle(reserved, dataset_id)
    assert await catalog.quotas.of_dataset(dataset_id) == Amounts(120, 1)
    assert await catalog.quotas.to_measure() == [dataset_id]
    assert not await catalog.quotas.has_room_for(dataset_id, "data/a", 1)


async def test_accounts_have_what_was_set_for_them_and_the_rest_as_the_node_says(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    await catalog.quotas.set(alice.id, Quota(bytes=50))
    await catalog.quotas.set(alice.id, Quota(bytes=60))
    assert await catalog.quotas.find(alice.id) == Quota(bytes=60)
    assert await catalog.quotas.find(bob.id) == Quota()
    dataset_id = await known(catalog, alice, 1)
    with pytest.raises(QuotaExceeded, match="account"):
        await catalog.quotas.reserve(Wish(dataset_id, alice.id, {}, 61), LIMITS, lease_s=LEASE_S)
    await catalog.quotas.set(dataset_id, Quota(bytes=10))
    with pytest.raises(QuotaExceeded, match="dataset"):
        await catalog.quotas.reserve(Wish(dataset_id, alice.id, {}, 11), LIMITS, lease_s=LEASE_S)


async def test_datasets_count_and_give_back_when_they_are_gone(catalog: Catalog, alice: Account) -> None:
    limits = Limits(Quota(100, 0, 2), Quota(0, 0, 0))
    first = await known(catalog, alice, 1)
    await catalog.quotas.add(first, Amounts(80, 1))
    await catalog.quotas.check_new_dataset(alice.id, limits)
    second = await known(catalog, alice, 2)
    with pytest.raises(QuotaExceeded, match="1 datasets needed, 0 datasets left"):
        await catalog.quotas.check_new_dataset(alice.id, limits)
    await catalog.datasets.forget(first)
    await catalog.quotas.check_new_dataset(alice.id, limits)
    await catalog.quotas.reserve(Wish(second, alice.id, {}, 100), limits, lease_s=LEASE_S)
    await catalog.quotas.forget_gone()
    assert await catalog.quotas.of_dataset(first) == Amounts()


async def test_pushes_at_the_same_time_do_not_go_over_together(catalog: Catalog, alice: Account) -> None:
    ids = [await known(catalog, alice, number) for number in range(10)]
    wishes = (catalog.quotas.reserve(Wish(each, alice.id, {}, 300), LIMITS, lease_s=LEASE_S) for each in ids)
    ended = await asyncio.gather(*wishes, return_exceptions=True)
    assert sum(isinstance(each, str) for each in ended) == ROOM // 300
    assert sum(isinstance(each, QuotaExceeded) for each in ended) == 10 - ROOM // 300


async def test_room_of_a_holder_that_died_counts_until_the_dataset_was_measured(
    catalog: Catalog, alice: Account, clock: Clock
) -> None:
    dataset_id = await known(catalog, alice, 1)
    reserved = await catalog.quotas.reserve(Wish(dataset_id, alice.id, {}, 500), LIMITS, lease_s=LEASE_S)
    clock.now += LEASE_S - 1
    await catalog.quotas.renew(reserved, lease_s=LEASE_S)
    clock.now += LEASE_S + 1
    assert await catalog.quotas.of_dataset(dataset_id) == Amounts(500)
    assert await catalog.quotas.to_measure() == [dataset_id]
    assert await catalog.quotas.measured(await catalog.quotas.begin_measuring(dataset_id), Amounts(120, 1))
    assert await catalog.quotas.of_dataset(dataset_id) == Amounts(120, 1)
    assert await catalog.quotas.to_measure() == []


async def test_what_came_while_it_was_measured_is_not_lost(catalog: Catalog, alice: Account) -> None:
    dataset_id = await known(catalog, alice, 1)
    measuring = await catalog.quotas.begin_measuring(dataset_id)
    await catalog.quotas.add(dataset_id, Amounts(7, 1))
    assert not await catalog.quotas.measured(measuring, Amounts())
    assert await catalog.quotas.of_dataset(dataset_id) == Amounts(7, 1)


# --- any interleaving


@dataclass
class Push:
    """A push that goes on; ``came`` are those of its objects that are stored by now."""

    reservation: str
    dataset: int
    objects: dict[str, int]
    block_bytes: int


@dataclass
class World:
    """A repository as it would be, beside what the catalog says of it."""

    catalog: Catalog
    owner: Account
    clock: Clock
    ids: list[DatasetId]
    stored: dict[int, dict[str, int]] = field(default_factory=dict)
    pushes: list[Push] = field(default_factory=list)
    blocks: int = 0

    async def begin(self, dataset: int, sizes: Sequence[int]) -> None:
        missing = {key: size for key, size in _named(sizes).items() if key not in self._of(dataset)}
        wish = Wish(self.ids[dataset], self.owner.id, missing, 5)
        try:
            reserved = await self.catalog.quotas.reserve(wish, LIMITS, lease_s=LEASE_S)
        except QuotaExceeded:
            return
        self.pushes.append(Push(reserved, dataset, missing, 5))

    async def arrive(self, which: int) -> None:
        """An object of a push comes, as far as the server lets it in."""
        if self.pushes:
            push = self.pushes[which % len(self.pushes)]
            for key, size in list(push.objects.items())[:1]:
                if await self.catalog.quotas.has_room_for(self.ids[push.dataset], key, size):
                    self._of(push.dataset)[key] = size

    async def end(self, which: int, how: str) -> None:
        if not self.pushes:
            return
        push = self.pushes.pop(which % len(self.pushes))
        if how == "commit":
            self.blocks += 1
            self._of(push.dataset).update(push.objects, **{f"block {self.blocks}": push.block_bytes})
            await self.catalog.quotas.settle(push.reservation, self.ids[push.dataset])
        elif how == "cancel":
            await self.catalog.quotas.let_go(push.reservation)

    async def collect(self, dataset: int) -> None:
        """Garbage goes that nobody holds."""
        held = {key for push in self.pushes if push.dataset == dataset for key in push.objects}
        for key in [key for key in self._of(dataset) if not key.startswith("block") and key not in held][:1]:
            del self._of(dataset)[key]
        await self.catalog.quotas.doubt_all()

    async def measure(self, dataset: int) -> None:
        measuring = await self.catalog.quotas.begin_measuring(self.ids[dataset])
        assert await self.catalog.quotas.measured(measuring, self.amounts(dataset))

    async def wait(self) -> None:
        """Everybody who was at work has died."""
        self.pushes.clear()
        self.clock.now += LEASE_S + 1

    def amounts(self, dataset: int) -> Amounts:
        held = self._of(dataset)
        return Amounts(sum(held.values()), sum(not key.startswith("block") for key in held))

    def total(self) -> Amounts:
        return sum((self.amounts(each) for each in range(len(self.ids))), Amounts())

    def _of(self, dataset: int) -> dict[str, int]:
        return self.stored.setdefault(dataset, {})


def _named(sizes: Sequence[int]) -> dict[str, int]:
    return {f"data/{size}": size for size in sizes}


SIZES = st.lists(st.integers(1, 400), max_size=4)
STEPS = st.one_of(
    st.tuples(st.just("begin"), st.integers(0, 2), SIZES),
    st.tuples(st.just("arrive"), st.integers(0, 5)),
    st.tuples(st.just("end"), st.integers(0, 5), st.sampled_from(["commit", "cancel", "crash"])),
    st.tuples(st.just("collect"), st.integers(0, 2)),
    st.tuples(st.just("measure"), st.integers(0, 2)),
    st.tuples(st.just("wait")),
)
"""What may happen; ``end`` with ``crash`` says nothing to the catalog."""


@given(steps=st.lists(STEPS, max_size=25), number=st.integers(1_000, 2**40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
async def test_any_interleaving_keeps_within_the_quota_and_ends_with_what_is_stored(
    catalog: Catalog, clock: Clock, steps: list[tuple[str, *tuple[object, ...]]], number: int
) -> None:
    owner = await catalog.accounts.find_or_create(AccountName("alice"))
    ids = [await known(catalog, owner, number + each) for each in range(3)]
    clock.now += 2 * LEASE_S
    await catalog.quotas.forget_gone()
    world = World(catalog, owner, clock, ids)
    for name, *arguments in steps:
        await getattr(world, name)(*arguments)
        taken, stored = await catalog.quotas.of_account(owner.id), world.total()
        assert taken.bytes >= stored.bytes
        assert taken.objects >= stored.objects
        assert stored.bytes <= ROOM
        assert stored.objects <= (LIMITS.account.objects or 0)
        assert all(world.amounts(each).bytes <= (LIMITS.dataset.bytes or 0) for each in range(3))
    await world.wait()
    for dataset_id in await catalog.quotas.to_measure():
        await world.measure(ids.index(dataset_id))
    assert await catalog.quotas.of_account(owner.id) == world.total() + Amounts(datasets=3)
    for dataset_id in ids:
        await catalog.datasets.forget(dataset_id)
    await catalog.quotas.forget_gone()
