"""Very much news is cut into steps: whole blocks in the order of their times, each in one step, none left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.multihash import Multihash, physical_hash
from pipeline.commit import position_of
from pipeline.transform.batches import Arrival, ends_of_step
from pipeline.transform.run import all_steps, transform
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import Workshop, query_over
from tests.verify.replaying import verified
from verify.report import Verdict


def block(name: str) -> Multihash:
    return physical_hash(name.encode())


def came(name: str, *brought: tuple[int, int]) -> list[Arrival]:
    """Blocks of an input, each by its day and its number of records."""
    return [
        Arrival(day(on), block(f"{name}{place}"), block(f"{name}{place - 1}"), records)
        for place, (on, records) in enumerate(brought, 1)
    ]


def test_what_fits_goes_in_whole() -> None:
    assert ends_of_step([came("a", (1, 5), (2, 5)), came("b", (1, 5))], 15) is None
    assert ends_of_step([[], []], 1) is None


def test_blocks_of_all_inputs_go_in_by_their_times() -> None:
    arrivals = [came("a", (1, 5), (4, 5), (5, 5)), came("b", (2, 5), (3, 5)), []]
    assert ends_of_step(arrivals, 10) == [block("a1"), block("b1"), None]
    assert ends_of_step(arrivals, 15) == [block("a1"), None, None]


def test_an_input_of_which_nothing_goes_in_is_read_up_to_before_its_first_records() -> None:
    assert ends_of_step([came("a", (1, 5), (2, 5)), came("b", (3, 5))], 5) == [block("a1"), block("b0")]


def test_one_block_goes_in_however_large_it_is_with_what_has_no_records() -> None:
    assert ends_of_step([came("a", (1, 0), (2, 50), (3, 0), (4, 1))], 5) == [block("a3")]


blocks = st.lists(st.tuples(st.integers(1, 28), st.integers(0, 9)), max_size=6).map(sorted)


@given(inputs=st.lists(blocks, min_size=1, max_size=3), records_max=st.integers(1, 20))
def test_step_after_step_everything_is_read_once(inputs: list[list[tuple[int, int]]], records_max: int) -> None:
    rest = [came(f"{index}-", *each) for index, each in enumerate(inputs)]
    while (ends := ends_of_step(rest, records_max)) is not None:
        taken = [_taken(each, end) for each, end in zip(rest, ends, strict=True)]
        records = [arrival.records for each in taken for arrival in each]
        assert sum(map(len, taken)) > 0
        assert sum(records) <= records_max or len([each for each in records if each]) == 1
        latest = max(arrival.at for each in taken for arrival in each)
        rest = [each[len(gone) :] for each, gone in zip(rest, taken, strict=True)]
        assert all(arrival.at >= latest for each in rest for arrival in each)
    assert sum(arrival.records for each in rest for arrival in each) <= max(records_max, 9)


def _taken(arrivals: list[Arrival], end: Multihash | None) -> list[Arrival]:
    hashes = [arrival.block for arrival in arrivals]
    return arrivals if end is None else arrivals[: hashes.index(end) + 1] if end in hashes else []


@pytest.fixture
async def towns(workshop: Workshop) -> Workshop:
    """Cities and towns, of five days in turn."""
    for name in ("cities", "towns"):
        await workshop.add_cities(name)
    for number in range(2, 7):
        populations = {f"place{number}x{each}": number for each in range(3)}
        await workshop.push(("cities", "towns")[number % 2], on=number, **populations)
    union = "select event_time, city from cities union all select event_time, city from towns"
    for name in ("whole", "cut"):
        await workshop.add(name, query_over(union, "cities", "towns"))
    return workshop


@pytest.mark.parametrize(("records_max", "steps"), [(1, 5), (6, 3), (7, 3), (15, 1)])
async def test_steps_that_were_cut_give_the_rows_of_one(towns: Workshop, records_max: int, steps: int) -> None:
    await towns.step("whole", on=8)
    made = 0
    while await step(towns, "cut", records_max) is not None:
        made += 1
    assert made == steps
    rows = {name: sorted(str(row) for row in await towns.rows(name, "city")) for name in ("whole", "cut")}
    assert rows["cut"] == rows["whole"]
    last = (await towns.steps("cut"))[-1]
    assert [each.new_offset or each.prev_offset for each in last.query_inputs] == [8, 5]
    assert (await verified(towns, "cut")).verdict is Verdict.VALID


async def step(workshop: Workshop, name: str, records_max: int) -> object:
    dataset = workshop.datasets[name]
    return await transform(dataset, workshop.find, workshop.engine, system_time=day(9), records_max=records_max)


async def test_records_of_which_no_block_can_tell_are_read_with_the_next_ones(towns: Workshop) -> None:
    await towns.add_cities("silent")
    schema = (await position_of(towns.datasets["cities"])).schema
    assert isinstance(schema, SetDataSchema)
    await towns.set("silent", schema, on=2)
    late = "select event_time, city from cities where population = 6 union all select event_time, city from silent"
    await towns.add("late", query_over(late, "cities", "silent"))
    assert await step(towns, "late", 1) is not None
    (only,) = await towns.steps("late")
    assert [each.new_offset for each in only.query_inputs] == [8, None]
    assert await step(towns, "late", 1) is None


async def test_steps_are_made_until_nothing_is_new(towns: Workshop) -> None:
    for expected in ([6, 6, 3], []):
        steps = all_steps(towns.datasets["cut"], towns.find, towns.engine, clock=lambda: day(9), records_max=6)
        assert [outcome.answer.rows.read async for outcome in steps] == expected
