"""However work and inputs are divided, a step gives the records that were worked out, hash included."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.data import slice_format
from pipeline.worker_client import WorkerClient
from tests.pipeline.epochs.test_determinism import settings_of
from tests.pipeline.golden.inputs import PATTERNS, Block, labels, order
from tests.pipeline.golden.kinds import KINDS
from tests.pipeline.golden.running import Dialect, Scenario, check, workshop_with
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.test_determinism import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)
DATAFUSION, SPARK = Dialect("datafusion"), Dialect("spark")
EPOCHS = Dialect("spark", "odf-epoch/1", carries=True)
STATELESS = [kind for kind in KINDS.values() if kind.is_stateless]
IN_SPARK = st.one_of(
    st.tuples(st.just(SPARK), st.sampled_from(list(KINDS.values()))),
    st.tuples(st.just(EPOCHS), st.sampled_from(STATELESS)),
)
_FOLDERS = count()


@st.composite
def histories(draw: st.DrawFn) -> Sequence[Block]:
    """The same kind of orders, cut into blocks anywhere, labels among them."""
    numbers = draw(st.lists(st.integers(0, 12), min_size=1, max_size=10))
    cuts = sorted(draw(st.sets(st.integers(1, len(numbers)), max_size=4)) | {len(numbers)})
    blocks = [
        Block("orders", [order(number) for number in numbers[start:end]], watermark=1)
        for start, end in pairwise([0, *cuts])
    ]
    keys = draw(st.lists(st.integers(0, 12), min_size=1, max_size=6))
    blocks.insert(draw(st.integers(0, len(blocks))), labels(*keys, watermark=1))
    return blocks


def a_folder_in(folder: Path) -> Path:
    """One that is not there yet."""
    return folder / f"run-{next(_FOLDERS)}"


async def check_in_one_step(engine: LocalEngine | WorkerClient, scenario: Scenario, folder: Path) -> None:
    await check(workshop_with(engine, a_folder_in(folder)), scenario, "one step")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3, 1_000])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(list(KINDS.values())), history=histories())
async def test_datafusion_does_not_depend_on_slices_and_their_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, kind: object, history: Sequence[Block]
) -> None:
    monkeypatch.setattr(slice_format, "ROW_GROUP_ROWS", rows)
    engine = LocalEngine(tmp_path / "engine")
    await check_in_one_step(engine, Scenario(DATAFUSION, kind, history), tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [2, 1_000])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=IN_SPARK, history=histories(), wanted=SETTINGS)
async def test_spark_does_not_depend_on_slices_partitions_and_batches(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    asked: tuple[Dialect, object],
    history: Sequence[Block],
    wanted: dict[str, str],
) -> None:
    monkeypatch.setattr(slice_format, "ROW_GROUP_ROWS", rows)
    engine = LocalEngine(tmp_path / "engine", lambda: spark)
    with settings_of(spark, wanted):
        await check_in_one_step(engine, Scenario(asked[0], asked[1], history), tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", KINDS)
async def test_one_core_gives_what_was_worked_out(one_core: WorkerClient, tmp_path: Path, name: str) -> None:
    """The session of the other tests has two."""
    kind, history = KINDS[name], PATTERNS["many blocks"]
    for dialect in [SPARK, EPOCHS] if kind.is_stateless else [SPARK]:
        await check_in_one_step(one_core, Scenario(dialect, kind, history), tmp_path)
