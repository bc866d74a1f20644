"""Writes down what plans Spark makes of queries over windows, for tests without it: tests/vectors/window-plans.json.

Run as ``python -m tests.pipeline.epochs.record_window_plans`` after a change of Spark's version or of the queries.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.gate import AnalyzedQuery

VECTORS: Final = Path(__file__).parents[2] / "vectors" / "window-plans.json"
QUERIES: Final = {
    "tumbling": "select window.end as event_time, key, count(1) as n from l group by key, window(event_time, '1 hour')"
    " having count(1) > 1",
    "begins later": "select window.start as event_time, count(1) as n from l"
    " group by window(event_time, '90 minutes', '90 minutes', '15 minutes')",
    "hopping": "select window.end as event_time, count(1) as n from l"
    " group by window(event_time, '1 hour', '15 minutes')",
    "session": "select session_window.end as event_time, key, count(1) as n from l"
    " group by session_window(event_time, '1 minute 30 seconds'), key",
    "union": "with both as (select event_time as t, value from l union all select event_time, value from r),"
    " found as (select window(t, '1 hour') as w, sum(value) as s from both group by 1)"
    " select w.end as event_time, s from found where s > 1",
    "union of times": "select window.end as event_time, count(1) as n from (select event_time as t from l union all"
    " select event_time + interval 1 hour from r) group by window(t, '1 hour')",
    "computed time": "select window.end as event_time, count(1) as n from l"
    " group by window(event_time + interval 1 hour, '1 hour')",
    "microseconds": "select window.end as event_time, count(1) as n from l"
    " group by window(event_time, '1500 microseconds')",
    "no window": "select max(event_time) as event_time from l group by key",
    "other event time": "select max(event_time) as event_time from l group by window(event_time, '1 hour')",
    "session start": "select session_window.start as event_time from l group by session_window(event_time, '1 hour')",
    "session condition": "select session_window.end as event_time, count(1) as n from l"
    " group by session_window(event_time, '1 hour') having session_window.start > timestamp'2024-01-01 00:00:00Z'",
    "record by record": "select event_time, key from l where value > 1",
}
_KEPT: Final = frozenset({"class", "num-children", "name", "ordinal", "value", "dataType", "table", "id"})


def pruned(value: Any) -> Any:
    """Without what no test looks at."""
    if isinstance(value, list):
        return [pruned(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: pruned(each) for name, each in value.items() if name in _KEPT or isinstance(each, list | dict)}


def record(session: SparkSession, folder: Path) -> None:
    """Ask Spark for the plan of every query."""
    from pipeline.epochs.positions import nodes_of  # noqa: PLC0415 - needs Spark
    from pipeline.epochs.query import EpochQuery  # noqa: PLC0415
    from tests.pipeline.epochs.stepping import Stepping  # noqa: PLC0415

    plans = {}
    for name, sql in QUERIES.items():
        found: list[AnalyzedQuery] = []
        with EpochQuery(session, Stepping(folder, (), ("l", "r"), (sql,)).request(0, 0)).over_nothing(found.append):
            plans[name] = pruned(nodes_of(found[-1]))
    VECTORS.write_text(json.dumps(plans, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    from pipeline.java import find_java
    from pipeline.jvm import JvmOptions, start_jvm
    from pipeline.session import spark_session

    with tempfile.TemporaryDirectory() as work:
        jvm = start_jvm(find_java(), JvmOptions(Path(work), 1024**3, properties={"spark.local.dir": work}))
        session = spark_session(jvm)
        record(session, Path(work))
        session.stop()
        jvm.stop()
