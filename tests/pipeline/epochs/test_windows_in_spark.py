"""Windows in Spark give what an independent computation of the whole history gives, however steps are cut."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.data.logical_hash import logical_hash_table
from tests.pipeline.epochs.histories import CUTS, PATTERNS, added, histories, taken_back
from tests.pipeline.epochs.oracle import Block, History, Row, fixed_windows, session_windows
from tests.pipeline.epochs.stepping import Stepping, minutes
from tests.pipeline.epochs.test_determinism import settings_of
from tests.pipeline.test_determinism import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXED = """
    select window.start as start, window.end as event_time, key, count(1) as n, sum(value) as total
    from l group by window(event_time, '10 minutes'{slide}), key"""
SESSIONS = """
    select session_window.start as start, session_window.end as event_time, key, count(1) as n, sum(value) as total
    from l group by session_window(event_time, '5 minutes'), key"""
COLUMNS = ("start", "event_time", "key", "n", "total")

Oracle = Callable[[History], list[Row]]
KINDS: dict[str, tuple[str, Oracle]] = {
    "tumbling": (FIXED.format(slide=""), lambda history: fixed_windows(history, "l", size=10, slide=10)),
    "hopping": (FIXED.format(slide=", '4 minutes'"), lambda history: fixed_windows(history, "l", size=10, slide=4)),
    "sessions": (SESSIONS, lambda history: session_windows(history, "l", gap=5)),
}


def expected(rows: list[Row], cuts: list[int], blocks: int) -> list[list[tuple[object, ...]]]:
    """Of each step the rows that may first appear with its blocks, by the end of the window and the other columns."""
    ends = [0, *(cut for cut in cuts if cut < blocks), blocks]
    found = [[row.values for row in rows if start <= row.at < end] for start, end in pairwise(ends)]
    return [sorted(each, key=lambda values: (values[1], values[0], *values[2:])) for each in found]


def told(tables: list[pa.Table]) -> list[list[tuple[object, ...]]]:
    assert all(set(table.column("op").to_pylist()) <= {0} for table in tables)
    return [minutes(table, *COLUMNS) for table in tables]


@pytest.mark.parametrize("cut", ["one step", "a step for each block"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_rows_are_those_of_the_whole_history(
    spark: SparkSession, tmp_path: Path, pattern: str, kind: str, cut: str
) -> None:
    history, (query, oracle) = PATTERNS[pattern], KINDS[kind]
    cuts = [] if cut == "one step" else [*range(1, len(history))]
    found = Stepping(tmp_path, history, ("l",), (query,)).run(spark, cuts)
    assert told(found) == expected(oracle(history), cuts, len(history))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(("l",)), cuts=CUTS, kind=st.sampled_from([*KINDS]), wanted=SETTINGS)
def test_neither_cuts_nor_the_work_of_spark_change_the_rows(
    spark: SparkSession, tmp_path: Path, history: History, cuts: list[int], kind: str, wanted: dict[str, str]
) -> None:
    query, oracle = KINDS[kind]
    with settings_of(spark, wanted):
        found = Stepping(tmp_path, history, ("l",), (query,)).run(spark, cuts)
    assert told(found) == expected(oracle(history), cuts, len(history))
    at_once = Stepping(tmp_path, history, ("l",), (query,)).run(spark)
    assert logical_hash_table(pa.concat_tables(found)) == logical_hash_table(pa.concat_tables(at_once))


UNION = """
    select window.end as event_time, count(1) as n, sum(value) as total
    from (select event_time as t, value from l where key = 'a' union all select event_time, value * 2 from r) as both
    group by window(t, '10 minutes') having count(1) > 0"""
STEPS = (
    "select event_time as t, key, value from l lateral view explode(array(value, 10)) as each where key <> 'c'",
    "with found as (select window(t, '10 minutes', '10 minutes', '1 minute') as w, key as k, max(value) as top,"
    " count(distinct value) as values from step_0 group by 1, 2) select w.end as event_time, upper(k) as k, top, values"
    " from found where top > 0",
)


@pytest.mark.parametrize("queries", [(UNION,), STEPS], ids=["inputs together", "steps and parts by WITH"])
@pytest.mark.parametrize("pattern", ["in order", "late"])
def test_inputs_and_steps_may_be_put_together(
    spark: SparkSession, tmp_path: Path, pattern: str, queries: tuple[str, ...]
) -> None:
    history = PATTERNS[pattern]
    at_once = Stepping(tmp_path, history, ("l", "r"), queries).run(spark)
    in_steps = Stepping(tmp_path, history, ("l", "r"), queries).run(spark, [*range(1, len(history))])
    assert len(pa.concat_tables(in_steps))
    assert pa.concat_tables(in_steps).combine_chunks().equals(pa.concat_tables(at_once).combine_chunks())


def test_of_two_inputs_the_slower_one_closes_a_window(spark: SparkSession, tmp_path: Path) -> None:
    history = (Block("l", (added(1),), 30), Block("r", (added(2),), 5), Block("r", (added(3),), 10))
    found = Stepping(tmp_path, history, ("l", "r"), (UNION,)).run(spark, [1, 2])
    assert [minutes(each, "event_time", "n", "total") for each in found] == [[], [], [(10, 3, 5)]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_remembered_are_the_records_of_open_windows(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    history = (
        Block("l", (added(1), added(9), added(12), added(13), taken_back(added(13))), 11),
        Block("l", (added(2), added(14)), 60),
    )
    stepping = Stepping(tmp_path, history, ("l",), (KINDS[kind][0],))
    kept = []
    for place in range(2):
        stepping.step(spark, place, place + 1)
        assert stepping.checkpoint is not None
        kept.append(pq.read_table(stepping.checkpoint).column("offset").to_pylist())
    open_now = {"tumbling": [2, 3, 4], "hopping": [1, 2, 3, 4], "sessions": [1, 2, 3, 4]}
    assert kept == [open_now[kind], []]


def test_a_step_that_is_made_again_from_the_same_checkpoint_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    history = PATTERNS["late"]
    stepping = Stepping(tmp_path, history, ("l",), (KINDS["hopping"][0],))
    stepping.step(spark, 0, 2)
    before = stepping.resumed()
    first, again = stepping.step(spark, 2, 5), before.step(spark, 2, 5)
    assert first.equals(again)
    assert stepping.checkpoint is not None
    assert before.checkpoint is not None
    assert stepping.checkpoint.read_bytes() == before.checkpoint.read_bytes()
