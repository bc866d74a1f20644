"""One dataset in several places: forks are told by their first block, and so is what a place took back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from opendatafabric.errors import TransientStorageError
from opendatafabric.layout import block_key
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.smart_server import memory_dataset
from verify.witness import Fork, Look, Seen, Shown, witness


def chain(*texts: str, number: int = 1) -> ChainBuilder:
    """A seed, and a block for each text."""
    found = ChainBuilder(dataset_id(number))
    for text in texts:
        found.info(text)
    return found


async def holding(builder: ChainBuilder) -> Dataset:
    dataset = memory_dataset()
    await dataset.append(builder.blocks, expected_head=None)
    return dataset


async def shown(
    places: Mapping[str, ChainBuilder], before: Mapping[str, ChainBuilder] | None = None
) -> dict[str, Shown]:
    datasets = {name: await holding(builder) for name, builder in places.items()}
    return {each.place: each for each in await witness(datasets, seen_before(before or {}))}


def seen_before(before: Mapping[str, ChainBuilder]) -> dict[str, Seen]:
    return {name: Seen(builder.head, len(builder.blocks) - 1) for name, builder in before.items()}


async def test_the_same_chain_everywhere_is_the_same() -> None:
    found = await shown({name: chain("a", "b") for name in ("here", "there")})
    assert {each.look for each in found.values()} == {Look.SAME}
    assert found["here"].seen == Seen(chain("a", "b").head, 2)


async def test_a_place_that_has_the_beginning_is_behind() -> None:
    found = await shown({"here": chain("a"), "there": chain("a", "b", "c"), "nowhere": chain()})
    assert [(each.look, each.behind) for each in found.values()] == [
        (Look.BEHIND, 2),
        (Look.SAME, 0),
        (Look.BEHIND, 3),
    ]


async def test_a_fork_is_told_by_the_first_block_that_differs() -> None:
    ours, theirs = chain("a", "b", "c", "d"), chain("a", "x", "c")
    found = await shown({"here": ours, "there": theirs})
    assert (found["here"].look, found["there"].look) == (Look.SAME, Look.FORKED)
    assert found["there"].fork == Fork(2, theirs.blocks[2].hash, ours.blocks[2].hash)


async def test_a_fork_between_two_others_is_seen_though_both_agree_with_ours() -> None:
    found = await shown({"here": chain("a"), "one": chain("a", "b"), "other": chain("a", "c")})
    assert [each.look for each in found.values()] == [Look.BEHIND, Look.SAME, Look.FORKED]


async def test_another_dataset_under_the_same_name_is_seen() -> None:
    found = await shown({"here": chain("a", "b"), "there": chain("a", number=2)})
    assert found["there"].look is Look.ANOTHER


async def test_a_chain_that_grew_since_the_last_look_is_no_alarm() -> None:
    found = await shown({"here": chain("a", "b")}, {"here": chain("a")})
    assert found["here"].look is Look.SAME


async def test_a_head_that_went_back_is_seen_while_others_still_have_its_blocks() -> None:
    found = await shown({"here": chain("a", "b", "c"), "there": chain("a")}, {"there": chain("a", "b", "c")})
    assert (found["there"].look, found["there"].behind) == (Look.ROLLED_BACK, 2)


async def test_a_head_that_went_back_is_seen_when_nobody_has_its_blocks() -> None:
    found = await shown({"there": chain("a")}, {"there": chain("a", "b", "c")})
    assert (found["there"].look, found["there"].behind) == (Look.ROLLED_BACK, 2)


async def test_a_chain_that_was_replaced_is_told_by_its_first_other_block() -> None:
    old, new = chain("a", "b", "c"), chain("a", "x", "y", "z")
    found = await shown({"here": old, "there": new}, {"there": old})
    assert found["there"].look is Look.REPLACED
    assert found["there"].fork == Fork(2, new.blocks[2].hash, old.blocks[2].hash)


async def test_a_chain_that_was_replaced_is_seen_when_nobody_has_the_old_one() -> None:
    old, new = chain("a", "b", "c"), chain("a", "x", "y", "z")
    found = await shown({"there": new}, {"there": old})
    assert found["there"].look is Look.REPLACED
    assert found["there"].fork == Fork(3, new.blocks[3].hash, old.head)


class Away(MemoryObjectStore):
    """A place that does not answer."""

    async def read(self, key: str, *, size_max: int = 0) -> bytes:
        raise TransientStorageError("it is away")


async def test_a_place_that_cannot_be_read_is_told_and_the_others_are_compared() -> None:
    away = await holding(chain("a"))
    broken = away.over(Away(), away.refs)
    empty = memory_dataset()
    here, there = await holding(chain("a", "b")), await holding(chain("a"))
    places = {"away": broken, "empty": empty, "here": here, "there": there}
    found = {each.place: each for each in await witness(places, {})}
    assert [each.look for each in found.values()] == [Look.UNREACHABLE, Look.UNREACHABLE, Look.SAME, Look.BEHIND]
    assert found["empty"].error == "there is no dataset with a head"
    assert "error" in found["away"].as_dict()


async def test_a_damaged_block_is_told_of() -> None:
    damaged, builder = await holding(chain("a", "b", "c")), chain("a", "b", "c")
    assert isinstance(damaged.objects, MemoryObjectStore)
    damaged.objects.objects[block_key(builder.blocks[1].hash)] = b"damaged"
    found = await witness({"here": await holding(chain("a", "x")), "there": damaged}, {})
    assert Look.UNREACHABLE in {each.look for each in found}


@pytest.mark.parametrize("length", [1, 40, 200])
async def test_long_chains_are_compared_too(length: int) -> None:
    common = [str(number) for number in range(length)]
    ours, theirs = chain(*common, "end", "more"), chain(*common, "other end")
    found = await shown({"here": ours, "there": theirs})
    assert found["there"].fork == Fork(length + 1, theirs.head, ours.blocks[length + 1].hash)


def test_what_is_shown_is_plain() -> None:
    head: Multihash = chain().head
    told = Shown("there", Look.FORKED, Seen(head, 3), 0, Fork(2, None, head)).as_dict()
    assert told == {
        "place": "there",
        "state": "forked",
        "head": str(head),
        "sequenceNumber": 3,
        "firstDifference": {"sequenceNumber": 2, "found": None, "expected": str(head)},
    }
