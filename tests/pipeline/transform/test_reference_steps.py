"""Every step that the reference recorded, made again over the recorded inputs, has the recorded records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.recorded import derivatives, remade, without_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("derivative", derivatives("datasets"), ids=lambda path: path.name)
async def test_the_steps_of_datafusion_are_the_same_but_for_the_bytes_of_files(
    derivative: Path, tmp_path: Path
) -> None:
    steps = await remade(derivative, LocalEngine(tmp_path / "engine"))
    assert [without_files(step.ours) for step in steps] == [without_files(step.theirs) for step in steps]


@pytest.mark.parametrize("derivative", derivatives("datasets-spark"), ids=lambda path: path.name)
async def test_the_steps_of_spark_are_the_same_but_for_the_bytes_of_files(
    derivative: Path, tmp_path: Path, spark: SparkSession
) -> None:
    steps = await remade(derivative, LocalEngine(tmp_path / "engine", lambda: spark))
    assert [without_files(step.ours) for step in steps] == [without_files(step.theirs) for step in steps]
