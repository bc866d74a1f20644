"""Every kind of query over every history in DataFusion."""

from __future__ import annotations

from pathlib import Path

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

pytestmark = pytest.mark.slow
DATAFUSION = Dialect("datafusion")


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    """Without Spark."""
    return LocalEngine(tmp_path / "engine")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("kind", KINDS)
async def test_each_step_gives_what_was_worked_out(
    engine: LocalEngine, tmp_path: Path, kind: str, pattern: str
) -> None:
    await check_runs(Scenario(DATAFUSION, KINDS[kind], PATTERNS[pattern]), engine, tmp_path)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.is_stateless])
async def test_operations_that_are_selected_are_carried(engine: LocalEngine, tmp_path: Path, kind: str) -> None:
    await check_runs(Scenario(DATAFUSION, KINDS[kind], PATTERNS["corrections"], with_op=True), engine, tmp_path)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if not kind.is_stateless])
async def test_what_looks_at_many_records_sees_those_of_a_step(engine: LocalEngine, tmp_path: Path, kind: str) -> None:
    await check_steps_see_themselves_alone(DATAFUSION, engine, kind, tmp_path)


async def test_a_query_follows_a_column_that_its_input_got(engine: LocalEngine, tmp_path: Path) -> None:
    await check_query_that_follows_its_input(DATAFUSION, engine, tmp_path)


async def test_inputs_and_derivatives_have_names_of_their_own(engine: LocalEngine, tmp_path: Path) -> None:
    await check_names_of_their_own(DATAFUSION, engine, tmp_path)
