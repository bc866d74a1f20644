"""However Spark divides its work and however steps are cut, the records are those that plain Python computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.data.logical_hash import logical_hash_table
from tests.pipeline.epochs.written import Written
from tests.pipeline.test_determinism import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Unit = list[tuple[int, int]]
"""Operations and numbers of records that belong together: one record, or the two of a correction."""

QUERY = "select event_time, n, each from input lateral view explode(sequence(5, n)) as each where n > 4"
PLAIN = st.tuples(st.sampled_from([0, 1]), st.integers(0, 9)).map(lambda record: [record])
CORRECTION = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: [(2, pair[0]), (3, pair[1])])
UNITS = st.lists(PLAIN | CORRECTION, min_size=1, max_size=8)


@contextmanager
def settings_of(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """Inside, the session has them."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def computed(unit: Unit) -> list[tuple[int, int, int]]:
    """What one unit gives, without Spark."""
    rows = [[(op, number, each) for each in range(5, number + 1)] for op, number in unit]
    if len(unit) == 2 and [len(half) for half in rows] != [1, 1]:
        return [(op - 1 if op == 2 else 0, number, each) for half in rows for op, number, each in half]
    return [row for half in rows for row in half]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(units=UNITS, wanted=SETTINGS, pieces_from=st.sampled_from([0, 100_000]), data=st.data())
def test_records_are_those_of_an_independent_computation(
    spark: SparkSession,
    tmp_path: Path,
    units: list[Unit],
    wanted: dict[str, str],
    pieces_from: int,
    data: st.DataObject,
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(units)), max_size=3)))
    written = Written(tmp_path, Written.table([record for unit in units for record in unit]))
    with settings_of(spark, wanted), pytest.MonkeyPatch.context() as patched:
        patched.setattr("pipeline.epochs.run._PIECES_FROM", pieces_from)
        found = written.run(spark, QUERY, [sum(map(len, units[:cut])) for cut in cuts])
    rows = zip(*(found.column(name).to_pylist() for name in ("op", "n", "each")), strict=True)
    assert list(rows) == [row for unit in units for row in computed(unit)]
    assert logical_hash_table(found) == logical_hash_table(written.run(spark, QUERY, []))
