"""Every kind of query in the two dialects of Spark, each over two histories, so that each history has its turns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.golden.inputs import PATTERNS
from tests.pipeline.golden.kinds import KINDS
from tests.pipeline.golden.running import Dialect, Scenario
from tests.pipeline.golden.suite import (
    check_names_of_their_own,
    check_query_that_follows_its_input,
    check_runs,
    check_steps_see_themselves_alone,
)
from tests.pipeline.local_engine import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)
SPARK, EPOCHS = Dialect("spark"), Dialect("spark", "odf-epoch/1", carries=True)
DIALECTS = {"batch": SPARK, "epochs": EPOCHS}
STATELESS = [name for name, kind in KINDS.items() if kind.is_stateless]


RUNS = ("one step", "killed and resumed")


def in_turns(kinds: list[str], step: int) -> list[tuple[str, str]]:
    """Each kind with corrections and with one other history."""
    others = [name for name in PATTERNS if name != "corrections"]
    return [
        (kind, pattern)
        for number, kind in enumerate(kinds)
        for pattern in ("corrections", others[number * step % len(others)])
    ]


CASES = [
    *(("batch", *case) for case in in_turns(list(KINDS), 1)),
    *(("epochs", *case) for case in in_turns(STATELESS, 3)),
]


@pytest.fixture
def engine(tmp_path: Path, spark: SparkSession) -> LocalEngine:
    """With the session of all tests."""
    return LocalEngine(tmp_path / "engine", lambda: spark)


@pytest.mark.parametrize(("dialect", "kind", "pattern"), CASES)
async def test_each_step_gives_what_was_worked_out(
    engine: LocalEngine, tmp_path: Path, dialect: str, kind: str, pattern: str
) -> None:
    await check_runs(Scenario(DIALECTS[dialect], KINDS[kind], PATTERNS[pattern]), engine, tmp_path, RUNS)


@pytest.mark.parametrize("kind", ["filter", "explode", "union"])
async def test_operations_that_are_selected_are_carried(engine: LocalEngine, tmp_path: Path, kind: str) -> None:
    await check_runs(Scenario(SPARK, KINDS[kind], PATTERNS["corrections"], with_op=True), engine, tmp_path, RUNS[:1])


@pytest.mark.parametrize("kind", ["group by"])
async def test_what_looks_at_many_records_sees_those_of_a_step(engine: LocalEngine, tmp_path: Path, kind: str) -> None:
    await check_steps_see_themselves_alone(SPARK, engine, kind, tmp_path)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_query_follows_a_column_that_its_input_got(engine: LocalEngine, tmp_path: Path, dialect: str) -> None:
    await check_query_that_follows_its_input(DIALECTS[dialect], engine, tmp_path)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_inputs_and_derivatives_have_names_of_their_own(
    engine: LocalEngine, tmp_path: Path, dialect: str
) -> None:
    await check_names_of_their_own(DIALECTS[dialect], engine, tmp_path)
