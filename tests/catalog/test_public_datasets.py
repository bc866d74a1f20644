"""Datasets that anybody may find: all of them, no others, in an order in which none is missed."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.facts_of_blocks import BlockFacts, Facts
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.multihash import Multihash, physical_hash

HEAD = physical_hash(b"head")


def id_of(name: str) -> DatasetId:
    return new_dataset_id(name.encode().ljust(32, b"."))


async def put(
    catalog: Catalog,
    owner: Account,
    name: str,
    visibility: Visibility = Visibility.PUBLIC,
    *blocks: BlockFacts,
    head: Multihash = HEAD,
    **facts: object,
) -> DatasetId:
    record = DatasetRecord(id_of(name), DatasetAlias.from_text(f"alice/{name}"), owner.id, visibility)
    await catalog.datasets.put(record)
    made = Facts(head, "root", **{"updated_at": 1.0, **facts})  # type: ignore[arg-type]
    assert await catalog.dataset_facts.advance(record.id, made, blocks, expected_head=None)
    return record.id


@pytest.fixture
async def five(catalog: Catalog, alice: Account) -> list[DatasetId]:
    """Three public ones in the order of their ids; one unlisted, one private."""
    await put(catalog, alice, "hidden", Visibility.PRIVATE)
    await put(catalog, alice, "unlisted", Visibility.UNLISTED)
    ids = [await put(catalog, alice, name, updated_at=float(at)) for at, name in enumerate(("a", "b", "c"))]
    return sorted(ids, key=str)


async def test_a_walk_finds_all_that_are_public_and_no_others(catalog: Catalog, five: list[DatasetId]) -> None:
    found, after = [], ""
    while rows := await catalog.public_datasets.after(after, count=2):
        found += [each.id for each in rows]
        after = str(rows[-1].id)
    assert found == five


async def test_one_is_told_with_its_owner_and_the_time_of_its_first_block(catalog: Catalog, alice: Account) -> None:
    first = BlockFacts(0, HEAD, 12.0, "Seed", 0, 0)
    wanted = await put(catalog, alice, "a", Visibility.PUBLIC, first, description="rain")
    found = await catalog.public_datasets.find(wanted)
    assert found is not None
    assert (found.owner, found.issued_at, found.facts.description) == ("alice", 12.0, "rain")


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("name", ["hidden", "unlisted", "nothing"])
async def test_others_are_not_found(catalog: Catalog, name: str) -> None:
    assert await catalog.public_datasets.find(id_of(name)) is None


@pytest.mark.usefixtures("five")
async def test_totals_count_what_is_public(catalog: Catalog) -> None:
    totals = await catalog.public_datasets.totals()
    assert (totals.count, totals.updated_at) == (3, 2.0)


@pytest.mark.parametrize(("skip", "count", "wanted"), [(0, 2, [0, 1]), (1, 5, [1, 2]), (2, 1, [2]), (3, 2, [])])
async def test_places_are_a_part_of_all(
    catalog: Catalog, five: list[DatasetId], skip: int, count: int, wanted: list[int]
) -> None:
    batches = catalog.public_datasets.places(skip=skip, count=count)
    assert [each.id async for batch in batches for each in batch] == [five[number] for number in wanted]


@pytest.mark.usefixtures("five")
async def test_the_version_follows_what_is_public_alone(catalog: Catalog, alice: Account) -> None:
    before = await catalog.public_datasets.version()
    await put(catalog, alice, "more", Visibility.PRIVATE)
    assert await catalog.public_datasets.version() == before
    await catalog.datasets.set_visibility(id_of("more"), Visibility.PUBLIC)
    published = await catalog.public_datasets.version()
    assert published != before
    facts = Facts(physical_hash(b"next"), "root", updated_at=2.0)
    await catalog.dataset_facts.advance(id_of("more"), facts, [], expected_head=HEAD)
    assert await catalog.public_datasets.version() not in {before, published}


@pytest.mark.parametrize(
    ("counts", "found"),
    [([(0, 0), (5, 50), (5, 50)], True), ([(0, 0), (5, 50), (9, 90)], False), ([(0, 0)], False)],
)
async def test_the_block_that_brought_all_records_is_known_if_one_did(
    catalog: Catalog, alice: Account, counts: list[tuple[int, int]], found: bool
) -> None:
    blocks = [BlockFacts(number, HEAD, 0.0, "AddData", *told) for number, told in enumerate(counts)]
    wanted = await put(catalog, alice, "a", Visibility.PUBLIC, *blocks, records=counts[-1][0], bytes=counts[-1][1])
    dataset = await catalog.public_datasets.find(wanted)
    assert dataset is not None
    only = await catalog.public_datasets.only_data(dataset)
    assert (only is not None and only.sequence_number == 1) is found
