"""Queries at blocks, system times and event times, next to what counting by hand finds in small changelogs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opendatafabric.metadata.sources import MergeStrategyLedger
from pipeline.query.prepare import Asked, prepare_query
from pipeline.query.tables import SqlAnswer
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.records.state import CHANGELOG, Wanted
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.reading.histories import A, R, source, with_past

pytestmark = pytest.mark.slow
SQL = 'SELECT "offset", op, city, population FROM cities ORDER BY "offset"'
COUNTED = "SELECT city, count(*) AS n, sum(population) AS p FROM to_table('cities') GROUP BY city ORDER BY city"
ROWS = st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from("abc"), st.integers(0, 2))
PASTS = st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=4)
LEDGERS = st.lists(st.lists(ROWS.map(lambda row: (0, *row[1:])), min_size=1, max_size=6), min_size=1, max_size=4)


class Record(NamedTuple):
    offset: int
    day: int
    op: int
    happened: int
    city: str
    population: int

    @property
    def shown(self) -> tuple[int, int, str, int]:
        return self.offset, self.op, self.city, self.population


def records_of(past: list[Any]) -> list[Record]:
    """All records; the first slice is of day 2."""
    rows = [(on, row) for on, rows in enumerate(past, 2) for row in rows]
    return [Record(offset, on, int(row[0]), *row[1:]) for offset, (on, row) in enumerate(rows)]


def state_of(records: list[Record], *, keyed: bool) -> list[Record]:
    """What they lead to, by carrying out one after the other."""
    there: list[Record] = []
    for each in records:
        if keyed:
            there = [other for other in there if other.city != each.city]
            there += [] if each.op == R else [each]
        elif each.op in (0, 3):
            there.append(each)
        else:
            equal = [other for other in there if other[3:] == each[3:]]
            if equal:
                there.remove(equal[-1])
    return there


async def asked(dataset: Dataset, folder: Path, sql: str, how: Asked) -> list[tuple[Any, ...]]:
    async def catalogue(_: str) -> Dataset:
        return dataset

    folder.mkdir()  # noqa: ASYNC240 - a test may wait for it
    batches = list(SqlAnswer(await prepare_query(sql, catalogue, folder, how)))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


async def compare(folder: Path, past: list[Any], *, keyed: bool, as_of: int) -> None:
    """Ask at every block and day, for changelogs and states."""
    (folder / "store").mkdir()
    merge = [source()] if keyed else [source(MergeStrategyLedger(("city",)))]
    days = dict(enumerate(past, 2))
    dataset = await with_past(folder, *merge, past=days, objects=LocalObjectStore(folder / "store"))
    blocks, records = (await blocks_of(dataset))[-len(past) :], records_of(past)
    for number, (on, block) in enumerate(zip(days, blocks, strict=True)):
        known = [each for each in records if each.day <= on]
        state = state_of(known, keyed=keyed)
        happened = [each for each in state if each.happened <= as_of]
        moments = (Asked(as_at=day(on)), Asked(at_blocks=(block.hash,)), Asked(blocks={"cities": block.hash}))
        for index, moment in enumerate(moments):
            expected = [(CHANGELOG, known), (Wanted(state=True), state), (Wanted(as_of=day(as_of)), happened)]
            for wanted, found in expected:
                how = Asked(moment.at_blocks, moment.as_at, wanted, moment.blocks)
                place = folder / f"{number}-{index}-{wanted.state}-{wanted.as_of is None}"
                assert await asked(dataset, place, SQL, how) == [each.shown for each in found], (on, how)


@given(past=PASTS, keyed=st.booleans(), as_of=st.integers(1, 4))
@settings(max_examples=8, deadline=None)
def test_changelogs_are_asked_at_any_moment(
    tmp_path_factory: pytest.TempPathFactory, past: list[Any], keyed: bool, as_of: int
) -> None:
    asyncio.run(compare(tmp_path_factory.mktemp("past"), past, keyed=keyed, as_of=as_of))


@given(past=LEDGERS, as_of=st.integers(1, 4))
@settings(max_examples=5, deadline=None)
def test_ledgers_are_asked_at_any_moment(tmp_path_factory: pytest.TempPathFactory, past: list[Any], as_of: int) -> None:
    asyncio.run(compare(tmp_path_factory.mktemp("past"), past, keyed=False, as_of=as_of))


@given(past=PASTS, keyed=st.booleans(), as_at=st.integers(2, 6))
@settings(max_examples=8, deadline=None)
def test_the_table_of_the_state_is_the_state_of_that_moment(
    tmp_path_factory: pytest.TempPathFactory, past: list[Any], keyed: bool, as_at: int
) -> None:
    folder = tmp_path_factory.mktemp("past")
    (folder / "store").mkdir()
    merge = [source()] if keyed else [source(MergeStrategyLedger(("city",)))]
    state = state_of([each for each in records_of(past) if each.day <= as_at], keyed=keyed)
    expected = [
        (city, len(those), sum(each.population for each in those))
        for city in "abc"
        if (those := [each for each in state if each.city == city])
    ]

    async def run() -> list[tuple[Any, ...]]:
        objects = LocalObjectStore(folder / "store")
        dataset = await with_past(folder, *merge, past=dict(enumerate(past, 2)), objects=objects)
        return await asked(dataset, folder / "asked", COUNTED, Asked(as_at=day(as_at)))

    assert asyncio.run(run()) == expected


def test_the_count_by_hand_takes_back_the_last_that_is_the_same() -> None:
    rows = [(A, 1, "a", 1), (A, 1, "a", 1), (R, 1, "a", 1), (R, 1, "b", 1)]
    assert [each.offset for each in state_of(records_of([rows]), keyed=False)] == [0]
    assert state_of(records_of([rows]), keyed=True) == []
