"""Gates are set and removed; promotions are noted from their beginning to their end."""

from __future__ import annotations

from catalog.catalog import Catalog
from catalog.gates import Gate, HeadToMove
from opendatafabric.multihash import physical_hash
from tests.storage.chains import dataset_id

OLD, NEW = physical_hash(b"old"), physical_hash(b"new")
HEADS = [HeadToMove(dataset_id(1), OLD, NEW), HeadToMove(dataset_id(2), None, NEW)]


async def test_a_dataset_has_the_gate_that_was_set_last_or_none(catalog: Catalog) -> None:
    assert await catalog.gates.find(dataset_id(1)) is None
    await catalog.gates.set(dataset_id(1), Gate(replay=False))
    await catalog.gates.set(dataset_id(1), Gate(replay=True))
    assert await catalog.gates.find(dataset_id(1)) == Gate(replay=True)
    assert await catalog.gates.find(dataset_id(2)) is None
    await catalog.gates.remove(dataset_id(1))
    assert await catalog.gates.find(dataset_id(1)) is None


async def test_a_promotion_is_known_until_it_ends(catalog: Catalog) -> None:
    first, second = await catalog.gates.begin(HEADS), await catalog.gates.begin(HEADS[:1])
    begun = await catalog.gates.begun()
    assert sorted(begun[first], key=str) == sorted(HEADS, key=str)
    assert begun[second] == HEADS[:1]
    await catalog.gates.end(first)
    assert list(await catalog.gates.begun()) == [second]
