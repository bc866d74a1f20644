"""Derivatives that the reference made, one value changed and every hash above it made anew: replay names the place.

That they are valid as they were made is tested where transforms are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.layout import data_key
from opendatafabric.limits import ENGINE_CHECKPOINT_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import ExecuteTransform
from pipeline.transform.input_chains import FindInput
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from tests.pipeline.datasets import blocks_of
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.recorded import derivatives, inputs_beside
from tests.verify.damage import in_memory
from tests.verify.forge import EventChange, Forge, stored_checkpoint, with_value
from verify.replay import Replay
from verify.replayed import ReplayedStep, StepVerdict
from verify.report import Verdict
from verify.verification import verify_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SYSTEM = ("offset", "op", "system_time")
SPARK, DATAFUSION = derivatives("datasets-spark"), derivatives("datasets")


@dataclass(frozen=True)
class Place:
    """Where a value is changed, and to what."""

    step: int
    row: int
    column: str
    value: Any


@dataclass
class Recorded:
    """A derivative in memory, and where its inputs are."""

    name: str
    dataset: Dataset
    objects: MemoryObjectStore
    find: FindInput

    async def steps(self, dataset: Dataset | None = None) -> list[HashedBlock]:
        """The blocks of its steps."""
        return [
            block for block in await blocks_of(dataset or self.dataset) if isinstance(block.event, ExecuteTransform)
        ]

    async def place(self) -> Place:
        """Somewhere, but the same each time: another column, row and step in each dataset."""
        steps = [block.event for block in await self.steps()]
        with_data = [n for n, event in enumerate(steps) if event.new_data is not None]  # type: ignore[union-attr]
        number = sum(self.name.encode())
        step = with_data[number % len(with_data)]
        raw = self.objects.objects[data_key(steps[step].new_data.physical_hash)]  # type: ignore[union-attr]
        records = pq.read_table(pa.BufferReader(raw))
        names = [name for name in records.column_names if name not in SYSTEM]
        row, column = number % len(records), names[number % len(names)]
        field = records.schema.field(column)
        return Place(step, row, column, other_than(records.column(column)[row].as_py(), field))

    async def replayed(self, forge: Forge, step: int, engine: LocalEngine) -> tuple[ReplayedStep, ReplayedStep]:
        """A forged step made again, and the true one."""
        forged = await forge.forged(self.dataset)
        replay = Replay(self.find, engine)
        (made,) = [each async for each in replay.steps(forged, [(await self.steps(forged))[step].hash])]
        (true,) = [each async for each in replay.steps(self.dataset, [(await self.steps())[step].hash])]
        return made, true


def other_than(value: Any, field: pa.Field) -> Any:
    """A value of the same type that is not the same."""
    if value is None or pa.types.is_nested(field.type):
        return None if value is not None else pa.scalar(0).cast(field.type).as_py()
    if pa.types.is_temporal(field.type):
        return value + timedelta(days=1)
    return not value if isinstance(value, bool) else value + type(value)("1")


async def recorded(folder: Path) -> Recorded:
    """A derivative of a folder."""
    dataset, objects = in_memory(folder)
    return Recorded(folder.name, dataset, objects, (await inputs_beside(folder))[1])


async def check_one_changed_value(derivative: Recorded, engine: LocalEngine) -> None:
    """The step with the changed value is a mismatch at its offset and column; as it was made it is valid."""
    place = await derivative.place()
    forge = Forge({place.step: with_value(place.column, place.row, place.value)})
    forged, true = await derivative.replayed(forge, place.step, engine)
    block = (await derivative.steps())[place.step]
    start = block.event.new_data.offset_interval.start  # type: ignore[union-attr]
    assert (true.verdict, true.sequence_number) == (StepVerdict.VALID, block.sequence_number)
    assert (forged.verdict, forged.sequence_number) == (StepVerdict.MISMATCH, block.sequence_number)
    assert [(row.offset, row.column) for row in forged.rows] == [(start + place.row, place.column)]


@pytest.mark.parametrize("derivative", DATAFUSION, ids=lambda path: path.name)
async def test_one_changed_value_of_datafusion_is_found(derivative: Path, tmp_path: Path) -> None:
    await check_one_changed_value(await recorded(derivative), LocalEngine(tmp_path / "engine"))


@pytest.mark.parametrize("derivative", SPARK, ids=lambda path: path.name)
async def test_one_changed_value_of_spark_is_found(derivative: Path, tmp_path: Path, spark: SparkSession) -> None:
    await check_one_changed_value(await recorded(derivative), LocalEngine(tmp_path / "engine", lambda: spark))


def leaving(raw: bytes, derivative: Recorded) -> EventChange:
    """The step with another checkpoint, which is whole in itself."""
    checkpoint = stored_checkpoint(derivative.objects, raw)
    return lambda event: replace(event, new_checkpoint=checkpoint)


@pytest.mark.parametrize("name", ["spark.join", "spark.weather.rare"])
async def test_a_swapped_checkpoint_is_found_by_what_it_says(name: str, tmp_path: Path, spark: SparkSession) -> None:
    derivative = await recorded(next(path for path in SPARK if path.name == name))
    steps = [block.event for block in await derivative.steps()]
    first, second = (event.new_checkpoint for event in steps[:2])  # type: ignore[union-attr]
    swapped: dict[int, EventChange] = {
        0: lambda event: replace(event, new_checkpoint=second),
        1: lambda event: replace(event, new_checkpoint=first),
    }
    dataset = await Forge(steps=swapped).forged(derivative.dataset)
    report = await verify_dataset(dataset, Replay(derivative.find, LocalEngine(tmp_path / "engine", lambda: spark)))
    verdicts = [step.verdict for step in report.steps or ()]
    assert report.verdict is Verdict.INVALID
    assert verdicts[:2] == [StepVerdict.MISMATCH] * 2
    assert set(verdicts[2:]) <= {StepVerdict.VALID}
    assert {finding.message for finding in report.findings} == {"the checkpoint has other watermarks than the inputs"}
    numbers = [block.sequence_number for block in await derivative.steps()][:2]
    assert [finding.sequence_number for finding in report.findings] == numbers


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"nothing like it", "is not one of this engine"),
        (bytes(ENGINE_CHECKPOINT_BYTES_MAX + 1), "larger than one of this engine"),
    ],
    ids=["no tar", "too large"],
)
async def test_a_checkpoint_that_is_none_is_found(raw: bytes, told: str, tmp_path: Path, spark: SparkSession) -> None:
    derivative = await recorded(next(path for path in SPARK if path.name == "spark.weather.map"))
    forge = Forge(steps={0: leaving(raw, derivative)})
    forged, _ = await derivative.replayed(forge, 0, LocalEngine(tmp_path / "engine", lambda: spark))
    assert forged.verdict is StepVerdict.MISMATCH
    assert told in forged.differences[0].message
