"""The contract of repositories: subclass, give a ``repository`` fixture and ``opened_again``, run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.errors import Conflict, DatasetNotFound, NameCollision, RefCollision
from storage.open import Connection, open_dataset
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from tests.storage.chains import chain, dataset_id


def alias(text: str) -> DatasetAlias:
    return DatasetAlias.from_text(text)


async def listed(repository: DatasetRepository, *, include_pending: bool = False) -> list[str]:
    return [str(entry.alias) async for entry in repository.iterate(include_pending=include_pending)]


async def add(repository: DatasetRepository, name: str, number: int) -> DatasetEntry:
    """A dataset of one block and one slice that everybody sees."""
    entry = await repository.create(alias(name), dataset_id(number))
    await entry.dataset.append(chain(["x"], number=number).blocks, expected_head=None)
    return await repository.find(dataset_id(number))


class RepositorySuite:
    connection: Connection | None = None
    """What opening a dataset by its address needs."""

    def opened_again(self, repository: Any) -> DatasetRepository:
        """The same repository, as another process opens it."""
        raise NotImplementedError

    async def test_a_new_repository_is_empty(self, repository: DatasetRepository) -> None:
        assert await listed(repository) == []
        assert await listed(self.opened_again(repository)) == []

    async def test_a_dataset_is_found_by_id_and_by_name_in_any_case(self, repository: DatasetRepository) -> None:
        await add(repository, "alice/Foo.Bar", 1)
        for ref in (dataset_id(1), alias("alice/Foo.Bar"), alias("ALICE/foo.bar")):
            entry = await repository.find(ref)
            assert (entry.id, str(entry.alias), entry.pending) == (dataset_id(1), "alice/Foo.Bar", False)
            assert await entry.dataset.head() == chain(["x"], number=1).head

    @pytest.mark.parametrize("ref", [dataset_id(9), alias("nobody"), alias("alice/foo"), alias("bob/foo")], ids=str)
    async def test_what_is_not_there_is_not_found(self, repository: DatasetRepository, ref: DatasetRef) -> None:
        await add(repository, "foo", 1)
        with pytest.raises(DatasetNotFound):
            await repository.find(ref)

    async def test_a_dataset_without_a_head_is_seen_by_its_creator_alone(self, repository: DatasetRepository) -> None:
        entry = await repository.create(alias("foo"), dataset_id())
        assert entry.pending
        assert (await listed(repository), await listed(repository, include_pending=True)) == ([], ["foo"])
        for ref in (alias("foo"), dataset_id()):
            with pytest.raises(DatasetNotFound):
                await repository.find(ref)
            assert (await repository.find(ref, include_pending=True)).id == dataset_id()

    async def test_its_head_makes_it_visible(self, repository: DatasetRepository) -> None:
        entry = await repository.create(alias("foo"), dataset_id())
        await entry.dataset.append(chain().blocks, expected_head=None)
        assert await listed(repository) == ["foo"]
        assert not (await repository.find(alias("foo"))).pending

    async def test_creating_a_pending_dataset_again_is_fine(self, repository: DatasetRepository) -> None:
        first = await repository.create(alias("foo"), dataset_id())
        again = await repository.create(alias("FOO"), dataset_id())
        assert (again.id, again.pending) == (first.id, True)
        assert len(await listed(repository, include_pending=True)) == 1

    async def test_an_id_exists_once(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        for name in ("foo", "bar", "alice/foo"):
            with pytest.raises(RefCollision):
                await repository.create(alias(name), dataset_id(1))

    async def test_a_pending_id_keeps_its_name(self, repository: DatasetRepository) -> None:
        await repository.create(alias("foo"), dataset_id(1))
        with pytest.raises(RefCollision):
            await repository.create(alias("bar"), dataset_id(1))

    async def test_a_name_exists_once(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await repository.create(alias("pending"), dataset_id(2))
        for name in ("foo", "FOO", "pending"):
            with pytest.raises(NameCollision):
                await repository.create(alias(name), dataset_id(3))
        assert await listed(repository, include_pending=True) == ["foo", "pending"]

    async def test_the_same_name_in_two_accounts_is_two_datasets(self, repository: DatasetRepository) -> None:
        await add(repository, "alice/foo", 1)
        await add(repository, "bob/foo", 2)
        assert await listed(repository) == ["alice/foo", "bob/foo"]
        assert (await repository.find(alias("bob/foo"))).id == dataset_id(2)

    async def test_another_process_sees_what_is_created_renamed_and_deleted(
        self, repository: DatasetRepository
    ) -> None:
        other = self.opened_again(repository)
        await add(repository, "foo", 1)
        assert (await other.find(alias("foo"))).id == dataset_id(1)
        await repository.rename(alias("foo"), alias("alice/bar"))
        assert (await other.find(alias("alice/bar"))).id == dataset_id(1)
        with pytest.raises(DatasetNotFound):
            await other.find(alias("foo"))
        await repository.delete(alias("alice/bar"))
        assert await listed(other) == []

    async def test_renaming_keeps_everything_else_and_frees_the_name(self, repository: DatasetRepository) -> None:
        head = await (await add(repository, "foo", 1)).dataset.head()
        after = await repository.rename(dataset_id(1), alias("Bar"))
        assert (str(after.alias), await after.dataset.head()) == ("Bar", head)
        await add(repository, "foo", 2)
        assert sorted(await listed(repository)) == ["Bar", "foo"]

    async def test_a_name_may_change_in_case_alone(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await repository.rename(dataset_id(1), alias("Foo"))
        assert await listed(repository) == ["Foo"]

    async def test_a_taken_name_is_refused_when_renaming(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await add(repository, "bar", 2)
        with pytest.raises(NameCollision):
            await repository.rename(alias("foo"), alias("BAR"))
        assert await listed(repository) == ["bar", "foo"]

    async def test_a_deleted_dataset_is_gone_and_may_come_back(self, repository: DatasetRepository) -> None:
        dataset = (await add(repository, "foo", 1)).dataset
        await repository.delete(dataset_id(1))
        assert await dataset.head() is None
        assert await listed(repository, include_pending=True) == []
        await add(repository, "foo", 1)
        assert await listed(repository) == ["foo"]

    async def test_deleting_what_is_not_there_is_told(self, repository: DatasetRepository) -> None:
        with pytest.raises(DatasetNotFound):
            await repository.delete(alias("foo"))

    async def test_of_many_creators_of_one_name_one_wins(self, repository: DatasetRepository) -> None:
        others = [self.opened_again(repository) for _ in range(6)]
        made = await asyncio.gather(
            *(each.create(alias("foo"), dataset_id(number)) for number, each in enumerate(others, 1)),
            return_exceptions=True,
        )
        winners = [each for each in made if isinstance(each, DatasetEntry)]
        assert len(winners) == 1
        assert {type(each) for each in made} == {DatasetEntry, NameCollision}
        assert (await repository.find(alias("foo"), include_pending=True)).id == winners[0].id

    async def test_of_two_who_delete_both_end_and_the_dataset_is_gone(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        processes = (repository, self.opened_again(repository))
        ended = await asyncio.gather(*(each.delete(alias("foo")) for each in processes), return_exceptions=True)
        assert None in ended
        assert all(each is None or isinstance(each, DatasetNotFound | Conflict) for each in ended)
        assert await listed(repository, include_pending=True) == []

    async def test_of_a_renaming_and_a_deletion_at_once_both_end(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        other = self.opened_again(repository)
        ended = await asyncio.gather(
            repository.rename(dataset_id(1), alias("bar")), other.delete(dataset_id(1)), return_exceptions=True
        )
        assert all(
            not isinstance(each, BaseException) or isinstance(each, DatasetNotFound | Conflict) for each in ended
        )
        assert await listed(repository, include_pending=True) in ([], ["bar"])

    async def test_sweeping_leaves_what_is_finished_and_what_is_young(self, repository: DatasetRepository) -> None:
        await add(repository, "kept", 1)
        await repository.create(alias("abandoned"), dataset_id(2))
        assert list(await repository.sweep(unused_for_s=3600)) == []
        assert len(await repository.sweep(unused_for_s=-60)) == 1
        assert await listed(repository, include_pending=True) == ["kept"]

    async def test_places_are_told_with_addresses_that_open_them(self, repository: DatasetRepository) -> None:
        entry = await add(repository, "alice/foo", 1)
        await repository.create(alias("bar"), dataset_id(2))
        places = {str(place.alias): place async for place in repository.places()}
        assert {name: place.pending for name, place in places.items()} == {"alice/foo": False, "bar": True}
        foo = places["alice/foo"]
        assert (foo.name, foo.address) == (entry.place, repository.address_of(entry))
        assert await open_dataset(foo.address, self.connection).head() == chain(["x"], number=1).head
        assert list(await repository.strays()) == []

    async def test_what_is_retired_is_out_of_sight_and_comes_back_as_it_was(
        self, repository: DatasetRepository
    ) -> None:
        other = self.opened_again(repository)
        head = await (await add(repository, "alice/foo", 1)).dataset.head()
        await repository.retire(alias("alice/foo"))
        assert await listed(other, include_pending=True) == []
        for ref in (dataset_id(1), alias("alice/foo")):
            with pytest.raises(DatasetNotFound):
                await other.find(ref, include_pending=True)
        assert [(each.id, str(each.alias)) for each in await other.retired()] == [(dataset_id(1), "alice/foo")]
        assert [place async for place in other.places()] == []
        assert list(await other.strays()) == []
        restored = await other.restore(dataset_id(1), alias("alice/bar"))
        assert (str(restored.alias), await restored.dataset.head()) == ("alice/bar", head)
        assert (await repository.find(alias("alice/bar"))).id == dataset_id(1)
        assert list(await repository.retired()) == []

    async def test_nothing_enters_what_is_retired(self, repository: DatasetRepository) -> None:
        dataset = (await add(repository, "foo", 1)).dataset
        head = await dataset.head()
        await repository.retire(dataset_id(1))
        with pytest.raises((DatasetNotFound, Conflict)):
            await dataset.publish(({},), files=(), base=head, expected_head=head, new_head=chain(["y"]).head)
        assert await (await repository.restore(dataset_id(1), alias("foo"))).dataset.head() == head

    async def test_retiring_again_by_id_changes_nothing(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await repository.retire(dataset_id(1))
        await repository.retire(dataset_id(1))
        assert len(await repository.retired()) == 1
        with pytest.raises(DatasetNotFound):
            await repository.retire(alias("foo"))

    async def test_the_name_of_what_is_retired_is_free_and_its_id_is_not(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await repository.retire(dataset_id(1))
        with pytest.raises(RefCollision):
            await repository.create(alias("foo"), dataset_id(1))
        await add(repository, "foo", 2)
        with pytest.raises(NameCollision):
            await repository.restore(dataset_id(1), alias("FOO"))
        assert await listed(repository, include_pending=True) == ["foo"]
        assert (await repository.restore(dataset_id(1), alias("bar"))).id == dataset_id(1)

    async def test_sweeping_leaves_what_is_retired(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await repository.retire(dataset_id(1))
        await repository.sweep(unused_for_s=-60)
        assert len(await repository.retired()) == 1

    async def test_what_is_discarded_is_gone_and_may_be_made_anew(self, repository: DatasetRepository) -> None:
        await add(repository, "foo", 1)
        await repository.retire(dataset_id(1))
        await repository.discard(dataset_id(1))
        assert list(await repository.retired()) == []
        for forget in (repository.discard(dataset_id(1)), repository.restore(dataset_id(1), alias("foo"))):
            with pytest.raises(DatasetNotFound):
                await forget
        await add(repository, "foo", 1)
        assert await listed(repository) == ["foo"]
