"""Joins and DISTINCT in Spark: the rows of an independent computation, however steps are cut and work is divided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from opendatafabric.data.logical_hash import logical_hash_table
from pipeline.epochs.row_order import in_canonical_order
from tests.pipeline.epochs.histories import CUTS, PATTERNS, chained, histories
from tests.pipeline.epochs.operator_steps import in_steps
from tests.pipeline.epochs.oracle import History, Row, as_of_join, distinct, interval_join
from tests.pipeline.epochs.stepping import Stepping, minutes
from tests.pipeline.epochs.test_determinism import settings_of
from tests.pipeline.test_determinism import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIR = ("left_time", "left_key", "left_value", "right_time", "right_key", "right_value")
SELECT = (
    "select coalesce(l.event_time, r.event_time) as event_time,"
    " l.event_time as left_time, l.key as left_key, l.value as left_value,"
    " r.event_time as right_time, r.key as right_key, r.value as right_value"
)
NEAR = (
    "on l.key = r.key and l.event_time between r.event_time - interval 3 minutes and r.event_time + interval 5 minutes"
)
VALID = "on l.key = r.key and l.event_time >= r.valid_from and l.event_time < r.valid_to"


@dataclass(frozen=True)
class Asked:
    """A query, what it gives by the independent computation, and in which columns."""

    query: str
    expected: Callable[[History], list[Row]]
    columns: Sequence[str] = PAIR
    versions: tuple[str, ...] = ()
    inputs: str = "lr"

    def over(self, folder: Path, history: History) -> Stepping:
        """Steps of it."""
        return Stepping(folder, history, tuple(self.inputs), (self.query,), versions=self.versions)


def near(*outer: str) -> Callable[[History], list[Row]]:
    return lambda history: interval_join(history, "l", "r", before=3, after=5, outer=outer)


QUERIES = {
    "inner": Asked(f"{SELECT} from l join r {NEAR}", near()),
    "left": Asked(f"{SELECT} from l left join r {NEAR}", near("l")),
    "right": Asked(f"{SELECT} from l right join r {NEAR}", near("r")),
    "full": Asked(f"{SELECT} from l full join r {NEAR}", near("l", "r")),
    "from right to left": Asked(f"{SELECT} from r full join l {NEAR}", near("l", "r")),
    "as of": Asked(f"{SELECT} from l join r {VALID}", lambda history: as_of_join(history, "l", "r"), versions=("r",)),
    "as of, left": Asked(
        f"{SELECT} from l left join r {VALID}",
        lambda history: as_of_join(history, "l", "r", outer=True),
        versions=("r",),
    ),
    "distinct": Asked(
        "select distinct event_time, key from l",
        lambda history: distinct(history, "l"),
        ("event_time", "key"),
        inputs="l",
    ),
    "union": Asked(
        "select event_time, key from l union select event_time, key from r",
        lambda history: distinct(history, "l", "r"),
        ("event_time", "key"),
    ),
}


def inputs_of(asked: Asked) -> str:
    return "lr" if "r" in asked.query.replace("distinct", "").replace("from", "") else "l"


LONG: History = chained(PATTERNS.values())


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_those_of_an_independent_computation(spark: SparkSession, tmp_path: Path, name: str) -> None:
    asked = QUERIES[name]
    at_once = asked.over(tmp_path, LONG).run(spark)
    assert rows_of(at_once, asked.columns) == in_steps(asked.expected(LONG), LONG, [])
    ends = [3, 9, 17, 18, 30]
    in_many = asked.over(tmp_path, LONG).run(spark, ends)
    assert rows_of(in_many, asked.columns) == in_steps(asked.expected(LONG), LONG, ends)
    assert in_order(in_many) == in_order(at_once)


@pytest.mark.parametrize("name", ["full", "as of, left", "union"])
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(), ends=CUTS, wanted=SETTINGS)
def test_however_spark_divides_its_work(
    spark: SparkSession, tmp_path: Path, name: str, history: History, ends: list[int], wanted: dict[str, str]
) -> None:
    asked = QUERIES[name]
    with settings_of(spark, wanted):
        found = asked.over(tmp_path, history).run(spark, ends)
    assert rows_of(found, asked.columns) == in_steps(asked.expected(history), history, ends)
    again = asked.over(tmp_path, history).run(spark, ends)
    assert logical_hash_table(pa.concat_tables(again)) == logical_hash_table(pa.concat_tables(found))


def rows_of(steps: Sequence[pa.Table], columns: Sequence[str]) -> Counter[Row]:
    """Operations and those columns of what steps gave."""
    return Counter(
        Row(number, op, values)
        for number, table in enumerate(steps)
        for op, values in zip(table.column("op").to_pylist(), minutes(table, *columns), strict=True)
    )


def in_order(steps: Sequence[pa.Table]) -> str:
    """The logical hash of all rows in canonical order: steps have one each."""
    return str(logical_hash_table(in_canonical_order(pa.concat_tables(steps), "event_time").combine_chunks()))
