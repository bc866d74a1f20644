"""What cannot be computed window by window is refused with its place and with what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opendatafabric.errors import IncompatibleSchema, InvalidQuery, UnsupportedOperation
from tests.pipeline.epochs.histories import PATTERNS
from tests.pipeline.epochs.stepping import Stepping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

W = "window(event_time, '10 minutes')"
REFUSED = {
    "select max(event_time) as event_time from l group by key": ("Aggregate (line 1, column 45)", "GROUP BY window"),
    "select date_trunc('hour', event_time) as event_time, count(1) as n from l group by 1": ("Aggregate", "window"),
    "select w.end as event_time, count(1) as n from (select window(event_time, '1 hour') as w from l) group by w": (
        "Aggregate", "window"),
    f"select window.end as event_time, avg(value) as x from l group by {W}": ("Average (line 1", "sum(x) / count(x)"),
    f"select window.end as event_time, sum(value / 2) as x from l group by {W}": ("double, which depends", "decimal"),
    f"select window.end as event_time, try_sum(value) as x from l group by {W}": ("Sum (line 1", "sum, min"),
    f"select window.end as event_time, min(value * 0.5e0) as x from l group by {W}": ("Min (line 1", "decimal"),
    "select window.end as event_time, count(1) as n from l group by window(event_time + interval 1 hour, '1 hour')": (
        "something else than the event time of the records (line 1", "as it came"),
    "select window.end as event_time, count(1) as n from (select date_trunc('day', event_time) as t from l)"
    " group by window(t, '1 hour')": ("something else than the event time", "as it came"),
    "select window.end as event_time, count(1) as n from (select event_time as t from l union all"
    " select event_time + interval 1 hour from l) group by window(t, '1 hour')": ("something else", "as it came"),
    "select window.end as event_time, count(1) as n from l group by window(event_time, '1500 microseconds')": (
        "no length in whole milliseconds", "as a text"),
    "select session_window.end as event_time, count(1) as n from l"
    " group by session_window(event_time, if(key = 'a', '1 hour', '2 hours'))": ("no length", "as a text"),
    "select session_window.start as event_time, count(1) as n from l group by session_window(event_time, '1 hour')": (
        "not that of its window", "session_window.end AS event_time"),
    "select session_window.end as event_time, count(1) as n from l group by session_window(event_time, '1 hour')"
    " having session_window.start > timestamp'2024-01-01 00:00:00Z'": ("bounds of its sessions", "derived from this"),
    f"select max(event_time) as event_time, count(1) as n from l group by {W}": (
        "event time 'event_time' of the result", "window.end AS event_time"),
    f"select window.end as event_time, key, count(1) as n from l group by {W}, rollup(key)": ("Aggregate", "window"),
    "select window.end as event_time, count(1) as n from (select window.end as event_time, key from l"
    f" group by {W}, key) group by {W}": ("Aggregate", "window"),
    f"select window.end as event_time, count(1) as n from (select * from l order by key) group by {W}": (
        "Sort", "order"),
    "select window.end as event_time, count(1) as n from l join r using (key)"
    " group by window(l.event_time, '1 hour')": ("Aggregate", "GROUP BY"),
    f"select window.end as event_time, max(offset) as x from l group by {W}": ("offset", ""),
}  # fmt: skip


@pytest.mark.parametrize("query", REFUSED)
def test_a_refusal_says_where_and_what_instead(spark: SparkSession, tmp_path: Path, query: str) -> None:
    told, hint = REFUSED[query]
    with pytest.raises(InvalidQuery) as refused:
        Stepping(tmp_path, PATTERNS["in order"], ("l", "r"), (query,)).run(spark)
    assert told in str(refused.value)
    assert hint in str(refused.value.hint)


def test_an_operation_of_its_own_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    query = f"select 1 as op, window.end as event_time from l group by {W}"
    with pytest.raises(IncompatibleSchema, match="operation 'op' of its own"):
        Stepping(tmp_path, PATTERNS["in order"], ("l",), (query,)).run(spark)


def test_whoever_knows_no_blocks_cannot_ask_for_windows(spark: SparkSession, tmp_path: Path) -> None:
    query = f"select window.end as event_time, count(1) as n from l group by {W}"
    stepping = Stepping(tmp_path, PATTERNS["in order"], ("l",), (query,), knows_blocks=False)
    with pytest.raises(UnsupportedOperation, match="blocks that brought them are not known"):
        stepping.run(spark)


def test_a_column_called_group_remembers_nothing(spark: SparkSession, tmp_path: Path) -> None:
    query = "select event_time, key as `group` from l"
    stepping = Stepping(tmp_path, PATTERNS["in order"], ("l",), (query,))
    (found,) = stepping.run(spark)
    assert found.column("group").to_pylist() == ["a", "b", "a", "b", "a"]
    assert stepping.checkpoint is not None
    assert not stepping.checkpoint.exists()
