"""What a record was made of is read from the chains, as far as they can be read."""

from __future__ import annotations

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import NotFound, OdfError
from opendatafabric.layout import block_key
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.lineage.origin import Origin
from pipeline.lineage.read_origin import read_origin
from storage.dataset import Dataset
from storage.repository import DatasetEntry
from tests.pipeline.datasets import blocks_of
from tests.pipeline.transform.derived import Workshop, id_of, query_over

LARGE = "select event_time, city, population from cities where population > 10"
LARGER = "select event_time, city, population from cities where population > 25"


@pytest.fixture
async def large(workshop: Workshop) -> Workshop:
    """Two steps over cities: the first of one block, the second of two, and another query for it."""
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    await workshop.add("large", query_over(LARGE, "cities"))
    await workshop.step("large", on=3)
    await workshop.set("large", query_over(LARGER, "cities"), on=4)
    await workshop.push("cities", on=4, dnipro=15)
    await workshop.push("cities", on=5, kharkiv=40)
    await workshop.step("large", on=6)
    return workshop


async def origin(workshop: Workshop, name: str, offset: int) -> Origin:
    """Of a record of that dataset."""

    async def find(dataset_id: DatasetId) -> DatasetEntry:
        dataset = await workshop.find(dataset_id)
        found = next(each for each, known in workshop.datasets.items() if known is dataset)
        return DatasetEntry(dataset_id, DatasetAlias.from_text(found), dataset, None)

    return await read_origin(workshop.datasets[name], offset, find)


async def test_a_record_was_made_by_the_query_in_force_of_what_its_step_read(large: Workshop) -> None:
    first, second = await origin(large, "large", 0), await origin(large, "large", 2)
    assert (first.transform, second.transform) == (query_over(LARGE, "cities"), query_over(LARGER, "cities"))
    assert first.made_by == second.made_by
    assert first.as_dict()["madeBy"]["engine"] == "datafusion"
    cities = await blocks_of(large.datasets["cities"])
    (read,) = first.inputs
    assert (read.name, read.alias, read.after_block, read.offsets) == ("cities", "cities", None, OffsetInterval(0, 2))
    assert [each.block for each in read.written] == [cities[-3]]
    (read,) = second.inputs
    assert (read.after_block, read.to_block, read.offsets) == (cities[-3].hash, cities[-1].hash, OffsetInterval(3, 4))
    assert [(each.block, each.offsets) for each in read.written] == [
        (cities[-2], OffsetInterval(3, 3)),
        (cities[-1], OffsetInterval(4, 4)),
    ]


async def test_a_record_of_a_root_came_from_its_source(large: Workshop) -> None:
    found = await origin(large, "cities", 3)
    assert (found.sources, found.transform, found.inputs) == (("pushed into 'default'",), None, ())
    assert found.written.block == (await blocks_of(large.datasets["cities"]))[-2]


async def test_an_input_that_is_not_here_is_told_with_what_was_read_of_it(large: Workshop) -> None:
    del large.datasets["cities"]
    (read,) = (await origin(large, "large", 0)).inputs
    assert (read.dataset_id, read.name, read.offsets) == (id_of("cities"), None, OffsetInterval(0, 2))
    assert (read.written, read.problem) == ((), "not in this repository")


async def test_a_damaged_input_is_told_with_what_was_read_of_it(large: Workshop) -> None:
    cities = large.datasets["cities"]
    await cities.writable_objects().delete(block_key((await blocks_of(cities))[-3].hash))
    (read,) = (await origin(large, "large", 0)).inputs
    assert (read.name, read.written, read.problem is None) == ("cities", (), False)


async def test_a_chain_that_is_damaged_before_the_record_tells_what_is_left(large: Workshop) -> None:
    dataset = large.datasets["large"]
    seed, *_ = await blocks_of(dataset)
    await dataset.writable_objects().delete(block_key(seed.hash))
    large.datasets["large"] = Dataset(dataset.objects, dataset.refs)
    found = await origin(large, "large", 2)
    assert (found.transform, found.problem is None) == (None, False)
    assert [each.offsets for each in found.inputs] == [OffsetInterval(3, 4)]
    with pytest.raises(OdfError):
        await blocks_of(large.datasets["large"])


@pytest.mark.parametrize(("name", "expected"), [("large", "0 to 2"), ("empty", "none, it has no records")])
async def test_a_record_that_is_not_there_is_refused_with_those_that_are(
    large: Workshop, name: str, expected: str
) -> None:
    await large.add("empty", query_over(LARGE, "cities"))
    with pytest.raises(NotFound) as refused:
        await origin(large, name, 3)
    assert refused.value.expected == expected
