"""Datasets deleted and brought back, renamed and given away; crashes at every step, and any order against a model."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.events import EventType
from catalog.facts_refresh import refresh_facts
from catalog.jobs import POLL, JobId
from catalog.lifecycle import BROKEN_OFF_S, Lifecycle
from catalog.lifecycle_terms import Terms
from catalog.reindex import reindex
from catalog.roles import Role
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from catalog.tombstones import Change, Fate
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import Conflict, DatasetNotFound, NameCollision, NotFound, OdfError, RefCollision
from opendatafabric.names import AccountName
from storage.folders import RepositoryLayout
from storage.repository import Repository
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id
from tests.suites.repository import add, alias, listed

DAY = 86_400.0
TERMS = Terms(deleted_kept_s=7 * DAY, names_reserved_s=90 * DAY)
FOO, BAR, BOBS = alias("alice/foo"), alias("alice/bar"), alias("bob/foo")


@dataclass
class Place:
    """A repository with its catalog and what is done to it."""

    repository: Repository
    catalog: Catalog
    clock: Clock
    alice: Account
    bob: Account
    lifecycle: Lifecycle

    async def add(self, name: DatasetAlias = FOO, number: int = 1) -> DatasetRecord:
        await add(self.repository, str(name), number)
        record = DatasetRecord(dataset_id(number), name, self.alice.id, Visibility.PUBLIC)
        await self.catalog.datasets.put(record)
        return record

    async def names(self) -> list[str]:
        return await listed(self.repository, include_pending=True)

    async def record(self) -> DatasetRecord:
        found = await self.catalog.datasets.find(dataset_id(1))
        assert found is not None
        return found


@pytest.fixture
def place(tmp_path: Path, catalog: Catalog, clock: Clock, alice: Account, bob: Account) -> Place:
    repository = Repository.init(tmp_path / "datasets", RepositoryLayout.BY_ALIAS)
    return Place(repository, catalog, clock, alice, bob, Lifecycle(repository, catalog, TERMS, clock))


async def test_what_is_deleted_is_out_of_sight_and_comes_back_with_all_that_is_known_of_it(place: Place) -> None:
    record = await place.add()
    await place.catalog.roles.grant(record.id, place.bob, Role.READER)
    stone = await place.lifecycle.delete(record, by=place.alice.id)
    assert (stone.fate, stone.account_id, stone.kept_until) == (Fate.DELETED, place.alice.id, place.clock() + 7 * DAY)
    assert await place.names() == []
    await reindex(
        place.repository,
        place.catalog.accounts,
        place.catalog.datasets,
        default_owner=place.alice,
        default_visibility=Visibility.PRIVATE,
    )
    assert str((await place.lifecycle.undelete(record.id)).alias) == str(FOO)
    assert await place.record() == record
    assert await place.catalog.roles.held(record.id, place.bob) is Role.READER
    assert await place.catalog.tombstones.of_name(FOO) is None


async def test_it_may_come_back_under_another_name(place: Place) -> None:
    await place.lifecycle.delete(await place.add(), by=None)
    await place.add(FOO, 2)
    with pytest.raises(NameCollision):
        await place.lifecycle.undelete(dataset_id(1))
    await place.lifecycle.undelete(dataset_id(1), BAR)
    assert await place.names() == ["alice/bar", "alice/foo"]
    assert (await place.record()).alias == BAR


async def test_after_its_time_it_is_gone_for_good_and_its_name_still_reserved(place: Place) -> None:
    record = await place.add()
    await place.catalog.roles.grant(record.id, place.bob, Role.READER)
    await place.lifecycle.delete(record, by=None)
    place.clock.now += 7 * DAY - 1
    assert await place.lifecycle.expire() == 0
    place.clock.now += 1
    assert await place.lifecycle.expire() == 1
    assert list(await place.repository.retired()) == []
    assert await place.catalog.datasets.find(record.id) is None
    assert set((await place.catalog.belongings.of(record.id)).values()) == {0}
    with pytest.raises(DatasetNotFound):
        await place.lifecycle.undelete(record.id)
    with pytest.raises(NameCollision):
        await place.lifecycle.require_free(alias("Alice/FOO"), place.bob.id)
    await place.lifecycle.require_free(FOO, place.alice.id)
    place.clock.now += 90 * DAY
    await place.lifecycle.expire()
    await place.lifecycle.require_free(FOO, place.bob.id)
    assert await place.catalog.tombstones.of_name(FOO) is None


async def test_it_may_be_given_up_at_once(place: Place) -> None:
    record = await place.add()
    with pytest.raises(DatasetNotFound):
        await place.lifecycle.purge(record.id)
    await place.lifecycle.delete(record, by=None)
    await place.lifecycle.purge(record.id)
    assert list(await place.repository.retired()) == []
    await place.add()


async def test_schedules_rest_while_it_is_deleted(place: Place) -> None:
    record = await place.add()
    job = JobId(POLL, record.id)
    await place.catalog.schedules.set(job, Schedule("* * * * *"))
    await place.lifecycle.delete(record, by=None)
    place.clock.now += 600
    assert await place.catalog.jobs.claim_due([POLL], "worker", lease_s=60) is None
    await place.lifecycle.undelete(record.id)
    place.clock.now += 61
    assert await place.catalog.jobs.claim_due([POLL], "worker", lease_s=60) is not None


async def test_a_renamed_dataset_leaves_its_name_reserved(place: Place) -> None:
    record = await place.add()
    await place.lifecycle.rename(record, BAR, by=place.alice.id)
    assert (await place.names(), (await place.record()).alias) == (["alice/bar"], BAR)
    stone = await place.catalog.tombstones.of_name(FOO)
    assert stone is not None
    assert (stone.fate, stone.new_alias, stone.account_id) == (Fate.RENAMED, BAR, place.alice.id)
    with pytest.raises(NameCollision):
        await place.lifecycle.require_free(FOO, place.bob.id)
    await place.lifecycle.rename(await place.record(), FOO, by=place.alice.id)
    assert await place.names() == ["alice/foo"]


async def test_a_name_that_changes_in_case_alone_leaves_none(place: Place) -> None:
    await place.lifecycle.rename(await place.add(), alias("alice/FOO"), by=None)
    assert await place.names() == ["alice/FOO"]
    assert await place.catalog.tombstones.of_name(FOO) is None


async def test_a_taken_name_leaves_everything_as_it_was(place: Place) -> None:
    record = await place.add()
    await place.add(BAR, 2)
    with pytest.raises(NameCollision):
        await place.lifecycle.rename(record, BAR, by=None)
    assert await place.names() == ["alice/bar", "alice/foo"]
    assert await place.catalog.tombstones.of_name(FOO) is None
    await place.lifecycle.delete(record, by=None)


async def test_of_two_who_change_a_dataset_one_waits(place: Place) -> None:
    record = await place.add()
    await place.catalog.tombstones.begin(Change(Fate.RENAMED, record, None, 1.0, new_alias=BAR))
    with pytest.raises(Conflict):
        await place.lifecycle.delete(record, by=None)


async def test_what_is_taken_belongs_to_the_receiver_with_its_schedules(place: Place) -> None:
    record = await place.add()
    job = JobId(POLL, record.id)
    await place.catalog.schedules.set(job, Schedule("* * * * *"), account_id=place.alice.id)
    await place.catalog.roles.grant(record.id, place.bob, Role.READER)
    await place.lifecycle.offer(record, place.bob, by=place.alice.id)
    assert [offer.dataset_id for offer in await place.catalog.transfer_offers.list(place.bob.id)] == [record.id]
    assert str((await place.lifecycle.take(record.id, by=place.bob.id)).alias) == "bob/foo"
    after = await place.record()
    assert (after.owner_id, after.alias, after.visibility) == (place.bob.id, BOBS, Visibility.PUBLIC)
    assert await place.catalog.roles.held(record.id, place.bob) is None
    scheduled = await place.catalog.schedules.find(job)
    assert scheduled is not None
    assert scheduled.foreign
    stone = await place.catalog.tombstones.of_name(FOO)
    assert stone is not None
    assert (stone.fate, stone.new_alias, stone.owner_id) == (Fate.TRANSFERRED, BOBS, place.alice.id)
    with pytest.raises(NotFound):
        await place.lifecycle.take(record.id, by=place.bob.id)


async def test_an_offer_ends_with_the_ownership_it_was_made_in(place: Place) -> None:
    record = await place.add()
    with pytest.raises(Conflict):
        await place.lifecycle.offer(record, place.alice, by=None)
    await place.lifecycle.offer(record, place.bob, by=None)
    await place.catalog.transfer_offers.withdraw(record.id)
    with pytest.raises(NotFound):
        await place.lifecycle.take(record.id, by=None)
    await place.lifecycle.offer(record, place.bob, by=None)
    await place.catalog.datasets.set_owner(record.id, place.bob)
    with pytest.raises(NotFound):
        await place.lifecycle.take(record.id, by=None)


async def test_a_receiver_with_a_dataset_of_that_name_gets_none(place: Place) -> None:
    record = await place.add()
    await add(place.repository, "bob/foo", 2)
    await place.lifecycle.offer(record, place.bob, by=None)
    with pytest.raises(NameCollision):
        await place.lifecycle.take(record.id, by=None)
    assert (await place.record()).owner_id == place.alice.id
    assert await place.names() == ["alice/foo", "bob/foo"]


STEPS = {
    "delete": ("repository.retire", "catalog.belongings.suspend", "catalog.tombstones.settle"),
    "rename": ("repository.rename", "catalog.datasets.put", "catalog.tombstones.settle"),
    "take": (
        "repository.rename",
        "catalog.transfer_offers.take",
        "catalog.datasets.put",
        "catalog.tombstones.settle",
    ),
    "undelete": ("repository.restore", "catalog.datasets.put", "catalog.schedules.revive"),
    "purge": ("repository.discard", "catalog.belongings.forget", "catalog.tombstones.keep_no_longer"),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("deed", "step"), [(deed, step) for deed, steps in STEPS.items() for step in steps])
async def test_a_crash_at_any_step_is_made_good(
    place: Place, monkeypatch: pytest.MonkeyPatch, deed: str, step: str, after: bool
) -> None:
    record = await place.add()
    await place.lifecycle.offer(record, place.bob, by=None)
    if deed in {"undelete", "purge"}:
        await place.lifecycle.delete(record, by=None)
    with monkeypatch.context() as patched:
        _cut(patched, place, step, after=after)
        with pytest.raises(KeyboardInterrupt):
            await _do(place, deed, record)
    place.clock.now += BROKEN_OFF_S + 1
    await place.lifecycle.finish_begun()
    if deed in {"undelete", "purge"}:  # done once more, these come to their end
        try:
            await _do(place, deed, record)
        except DatasetNotFound:
            assert (step, after) in {("catalog.tombstones.keep_no_longer", True)}
    expected = {"delete": [], "rename": ["alice/bar"], "take": ["bob/foo"], "undelete": ["alice/foo"], "purge": []}
    assert await place.names() == expected[deed]
    assert await place.catalog.tombstones.unsettled(before=place.clock() + 1) == []
    if deed == "take":
        assert (await place.record()).owner_id == place.bob.id


def _cut(patched: pytest.MonkeyPatch, place: Place, step: str, *, after: bool) -> None:
    *path, name = step.split(".")
    owner: Any = place
    for part in path:
        owner = getattr(owner, part)
    real = getattr(owner, name)

    async def cut(*arguments: Any, **named: Any) -> None:
        if after:
            await real(*arguments, **named)
        raise KeyboardInterrupt

    patched.setattr(owner, name, cut)


async def _do(place: Place, deed: str, record: DatasetRecord) -> None:
    if deed == "delete":
        await place.lifecycle.delete(record, by=None)
    elif deed == "rename":
        await place.lifecycle.rename(record, BAR, by=None)
    elif deed == "take":
        await place.lifecycle.take(record.id, by=None)
    elif deed == "undelete":
        await place.lifecycle.undelete(record.id)
    else:
        await place.lifecycle.purge(record.id)


# --- any order, against a model

NAMES = [f"{account}/{name}" for account in ("alice", "bob") for name in ("a", "b")]
NUMBERS = st.integers(1, 3)
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), NUMBERS, st.sampled_from(NAMES)),
        st.tuples(st.just("delete"), NUMBERS),
        st.tuples(st.just("undelete"), NUMBERS),
        st.tuples(st.just("purge"), NUMBERS),
        st.tuples(st.just("rename"), NUMBERS, st.sampled_from(["a", "b"])),
        st.tuples(st.just("transfer"), NUMBERS),
        st.tuples(st.just("wait"), st.sampled_from([DAY, 8 * DAY, 91 * DAY])),
    ),
    max_size=25,
)


@dataclass
class Model:
    """What should be: names and owners of datasets in sight, those kept out of sight, and for whom names are kept."""

    now: float = 0.0
    seen: dict[int, str] = field(default_factory=dict)
    kept: dict[int, tuple[str, float]] = field(default_factory=dict)
    reserved: dict[str, tuple[str, float]] = field(default_factory=dict)

    def is_free(self, name: str) -> bool:
        """Whether the account in a name may give it to a dataset: nobody has it, and no other had it of late."""
        holder, until = self.reserved.get(name, ("", 0.0))
        return name not in self.seen.values() and (until <= self.now or holder == name.split("/", maxsplit=1)[0])

    def leave(self, number: int) -> str:
        name = self.seen.pop(number)
        self.reserved[name] = (name.split("/")[0], self.now + 90 * DAY)
        return name

    def expected(self, deed: str, number: Any, name: str | None) -> bool:
        """Carry it out, if it should succeed."""
        done = getattr(self, f"_{deed}")(number, name)
        return bool(done)

    def _wait(self, seconds: float, _: object) -> bool:
        self.now += seconds
        self.kept = {number: kept for number, kept in self.kept.items() if kept[1] > self.now}
        return True

    def _create(self, number: int, name: str) -> bool:
        if number in self.seen or number in self.kept or not self.is_free(name):
            return False
        self.seen[number] = name
        return True

    def _delete(self, number: int, _: object) -> bool:
        if number not in self.seen:
            return False
        self.kept[number] = (self.leave(number), self.now + 7 * DAY)
        return True

    def _undelete(self, number: int, _: object) -> bool:
        if number not in self.kept or not self.is_free(self.kept[number][0]):
            return False
        self.seen[number] = self.kept.pop(number)[0]
        return True

    def _purge(self, number: int, _: object) -> bool:
        return self.kept.pop(number, None) is not None

    def _rename(self, number: int, name: str) -> bool:
        old = self.seen.get(number)
        if old is None:
            return False
        return self._move(number, f"{old.split('/')[0]}/{name}")

    def _transfer(self, number: int, _: object) -> bool:
        old = self.seen.get(number)
        if old is None:
            return False
        account, name = old.split("/")
        return self._move(number, f"{'bob' if account == 'alice' else 'alice'}/{name}")

    def _move(self, number: int, name: str) -> bool:
        if name != self.seen[number]:
            if not self.is_free(name):
                return False
            self.leave(number)
        self.seen[number] = name
        return True


async def _carry_out(place: Place, deed: str, number: Any, name: str | None) -> None:
    accounts = {"alice": place.alice, "bob": place.bob}
    if deed == "wait":
        place.clock.now += number
        await place.lifecycle.expire()
        return
    found = await place.catalog.datasets.find(dataset_id(number))
    if deed == "create":
        assert name is not None
        owner = accounts[name.split("/")[0]]
        if found is not None:
            raise RefCollision("known")
        await place.lifecycle.require_free(alias(name), owner.id)
        await add(place.repository, name, number)
        await place.catalog.datasets.put(DatasetRecord(dataset_id(number), alias(name), owner.id, Visibility.PUBLIC))
    elif deed in {"undelete", "purge"}:
        await getattr(place.lifecycle, deed)(dataset_id(number))
    else:
        entry = await place.repository.find(dataset_id(number))
        assert found is not None
        if deed == "delete":
            await place.lifecycle.delete(found, by=None)
        elif deed == "rename":
            assert name is not None
            await place.lifecycle.rename(found, alias(f"{entry.alias.account}/{name}"), by=None)
        else:
            await place.lifecycle.offer(found, accounts["bob" if entry.alias.account == "alice" else "alice"], by=None)
            await place.lifecycle.take(found.id, by=None)


@given(DEEDS)
def test_whatever_is_done_in_whatever_order_names_and_owners_are_those_of_the_model(deeds: list[Any]) -> None:
    asyncio.run(_agrees(deeds))


async def _agrees(deeds: list[Any]) -> None:
    clock = Clock(0.0)
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository.init(Path(folder) / "datasets")
        async with open_catalog(sqlite_url(Path(folder) / "catalog.sqlite"), now=clock) as catalog:
            alice, bob = [await catalog.accounts.create(AccountName(name)) for name in ("alice", "bob")]
            lifecycle = Lifecycle(repository, catalog, TERMS, clock)
            place, model = Place(repository, catalog, clock, alice, bob, lifecycle), Model()
            for deed, number, *rest in deeds:
                await _agree_on(place, model, deed, number, rest[0] if rest else None)


async def _agree_on(place: Place, model: Model, deed: str, number: Any, name: str | None) -> None:
    expected = model.expected(deed, number, name)
    try:
        await _carry_out(place, deed, number, name)
        done = True
    except OdfError:
        done = False
    assert (deed, done) == (deed, expected)
    assert await place.names() == sorted(model.seen.values())
    assert {each.id for each in await place.repository.retired()} == {dataset_id(each) for each in model.kept}
    names = {place.alice.id: "alice", place.bob.id: "bob"}
    for each, known in model.seen.items():
        record = await place.catalog.datasets.find(dataset_id(each))
        assert record is not None
        assert (str(record.alias), names[record.owner_id]) == (known, known.split("/")[0])


async def test_what_is_deleted_and_brought_back_is_told_of_if_it_was_known(place: Place) -> None:
    record, facts = await place.add(), place.catalog.dataset_facts
    await place.lifecycle.delete(record, by=None)
    await place.lifecycle.undelete(record.id)
    assert await place.catalog.events.newest() == 0
    dataset = (await place.repository.find(record.id)).dataset
    await refresh_facts(facts, record.id, dataset)
    await place.lifecycle.delete(record, by=None)
    await place.lifecycle.undelete(record.id)
    made, gone, back = await place.catalog.events.after(0)
    assert [each.type for each in (made, gone, back)] == [EventType.CREATED, EventType.GONE, EventType.CREATED]
    assert (gone.public, back.details) == (True, made.details)
