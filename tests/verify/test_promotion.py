"""Heads that move together, all or none, wherever it is broken off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.gates import HeadToMove
from catalog.sqlite_files import sqlite_url
from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import RefConflict, TransientStorageError
from opendatafabric.multihash import Multihash
from storage.local.refs import LocalRefStore
from storage.repository import DatasetEntry, Repository
from tests.storage.chains import ChainBuilder, dataset_id
from verify.promotion import Promotions

NUMBERS = (1, 2, 3)


@dataclass
class Place:
    """Three datasets, each with something staged, and a catalog."""

    repository: Repository
    catalog: Catalog
    entries: list[DatasetEntry]
    heads: list[HeadToMove]

    @property
    def promotions(self) -> Promotions:
        return Promotions(self.repository, self.catalog.gates)

    async def state(self) -> list[str]:
        """Of each dataset, whether its head is the old or the new one."""
        names: dict[Multihash | None, str] = {}
        for head in self.heads:
            names |= {head.expected_head: "old", head.new_head: "new"}
        return [names.get(await entry.dataset.head(), "other") for entry in self.entries]

    async def staged(self) -> int:
        found = [await entry.dataset.head(STAGING) for entry in self.entries]
        return len([each for each in found if each is not None])


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    repository = Repository.init(tmp_path / "r")
    entries, heads = [], []
    for number in NUMBERS:
        chain = ChainBuilder(dataset_id(number))
        chain.info("old")
        entry = await repository.create(DatasetAlias.from_text(f"dataset{number}"), chain.id)
        await entry.dataset.append(chain.blocks, expected_head=None)
        old = chain.head
        new = chain.info("new")
        await entry.dataset.publish([{f"blocks/{new.hash}": new.raw}], files=(), base=old, expected_head=None,
                                    new_head=new.hash, block_ref=STAGING)  # fmt: skip
        entries.append(await repository.find(chain.id))
        heads.append(HeadToMove(chain.id, old, new.hash))
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        yield Place(repository, catalog, entries, heads)


async def test_heads_move_together_and_nothing_is_staged_then(place: Place) -> None:
    await place.promotions.promote(place.heads)
    assert await place.state() == ["new"] * 3
    assert (await place.staged(), await place.catalog.gates.begun()) == (0, {})


@pytest.mark.parametrize("which", range(3))
async def test_when_one_is_elsewhere_none_moves(place: Place, which: int) -> None:
    refs = place.entries[which].dataset.refs
    elsewhere = place.heads[(which + 1) % 3].new_head
    await refs.compare_and_swap(HEAD, expected=place.heads[which].expected_head, new=elsewhere)
    before = [await entry.dataset.head() for entry in place.entries]
    with pytest.raises(RefConflict):
        await place.promotions.promote(place.heads)
    assert [await entry.dataset.head() for entry in place.entries] == before
    assert (await place.staged(), await place.catalog.gates.begun()) == (3, {})


async def test_what_was_pushed_meanwhile_stays_staged(place: Place) -> None:
    refs = place.entries[0].dataset.refs
    other = place.heads[1].new_head
    await refs.compare_and_swap(STAGING, expected=place.heads[0].new_head, new=other)
    await place.promotions.promote(place.heads)
    assert await place.entries[0].dataset.head(STAGING) == other


class PowerCut(BaseException):
    """The process is no more."""


@pytest.mark.parametrize("calls", range(7))
async def test_what_is_broken_off_anywhere_is_brought_to_an_end(
    place: Place, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap, left = LocalRefStore.compare_and_swap, [calls]

    async def swap_until_the_cut(self: LocalRefStore, *args: object, **options: object) -> None:
        if left[0] == 0:
            raise PowerCut
        left[0] -= 1
        await swap(self, *args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(LocalRefStore, "compare_and_swap", swap_until_the_cut)
        try:
            await place.promotions.promote(place.heads)
        except PowerCut:
            assert len(await place.catalog.gates.begun()) == 1
    await place.promotions.finish_begun()
    assert await place.state() == ["new"] * 3
    assert (await place.staged(), await place.catalog.gates.begun()) == (0, {})


async def test_what_is_broken_off_goes_back_when_somebody_moved_a_head(place: Place) -> None:
    await place.catalog.gates.begin(place.heads)
    first, last = place.heads[0], place.heads[2]
    await place.entries[0].dataset.refs.compare_and_swap(HEAD, expected=first.expected_head, new=first.new_head)
    await place.entries[2].dataset.refs.compare_and_swap(HEAD, expected=last.expected_head, new=first.new_head)
    await place.promotions.finish_begun()
    assert (await place.state())[:2] == ["old", "old"]
    assert await place.catalog.gates.begun() == {}


async def test_a_store_that_fails_takes_back_what_has_moved(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    swap, moved = LocalRefStore.compare_and_swap, []

    async def fail_once(self: LocalRefStore, *args: object, **options: object) -> None:
        moved.append(self.root)
        if len(moved) == 2:
            raise TransientStorageError("the disk is away")
        await swap(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalRefStore, "compare_and_swap", fail_once)
    with pytest.raises(TransientStorageError):
        await place.promotions.promote(place.heads)
    assert (await place.state(), await place.catalog.gates.begun()) == (["old"] * 3, {})
