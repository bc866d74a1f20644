"""Every step that the reference recorded, made again over the recorded inputs, has the recorded records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.recorded import derivatives, inputs_beside, remade
from verify.replay import Replay
from verify.replayed import StepVerdict
from verify.report import Verdict
from verify.verification import verify_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("derivative", derivatives("datasets"), ids=lambda path: path.name)
async def test_the_steps_of_datafusion_are_the_same_but_for_the_bytes_of_files(
    derivative: Path, tmp_path: Path
) -> None:
    both = await remade(derivative, LocalEngine(tmp_path / "engine"))
    assert both.ours == both.theirs


@pytest.mark.parametrize("derivative", derivatives("datasets-spark"), ids=lambda path: path.name)
async def test_the_steps_of_spark_are_the_same_but_for_the_bytes_of_files(
    derivative: Path, tmp_path: Path, spark: SparkSession
) -> None:
    both = await remade(derivative, LocalEngine(tmp_path / "engine", lambda: spark))
    assert len(both.theirs) > 1
    assert both.ours == both.theirs


@pytest.mark.parametrize("derivative", derivatives("datasets-spark"), ids=lambda path: path.name)
async def test_the_steps_of_spark_are_valid_by_replay(derivative: Path, tmp_path: Path, spark: SparkSession) -> None:
    dataset, find = await inputs_beside(derivative)
    report = await verify_dataset(dataset, Replay(find, LocalEngine(tmp_path / "engine", lambda: spark)))
    assert report.verdict is Verdict.VALID
    assert {step.verdict for step in report.steps or ()} == {StepVerdict.VALID}
