"""What a step of ``odf-epoch/1`` remembers follows from the inputs too: another checkpoint is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.layout import checkpoint_key
from opendatafabric.metadata.events import ExecuteTransform, SetTransform
from opendatafabric.metadata.slices import Checkpoint
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from opendatafabric.multihash import physical_hash
from storage.memory import MemoryObjectStore
from tests.pipeline.transform.derived import Workshop, id_of
from tests.pipeline.transform.keeping import KeepingEngine
from tests.verify.replaying import rewrite, verified
from verify.replayed import StepVerdict
from verify.report import Verdict

QUERY = TransformSql("spark", "odf-epoch/1", queries=(SqlQueryStep(query="select event_time, city from cities"),))


@pytest.fixture
async def kept(tmp_path: Path) -> Workshop:
    """Cities in two steps that remember them all."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(KeepingEngine(tmp_path / "engine"), tmp_path / "files")
    await workshop.add_cities()
    await workshop.add("all", SetTransform((TransformInput(id_of("cities"), "cities"),), QUERY))
    for number, name in enumerate(["kyiv", "lviv"], start=2):
        await workshop.push("cities", on=number, **{name: 1})
        await workshop.step("all", on=number + 2)
    return workshop


async def replace_checkpoint(workshop: Workshop, raw: bytes) -> None:
    """The last step left another one."""

    def other(event: ExecuteTransform) -> ExecuteTransform:
        return replace(event, new_checkpoint=Checkpoint(physical_hash(raw), len(raw)))

    dataset = workshop.datasets["all"]
    assert isinstance(dataset.objects, MemoryObjectStore)
    dataset.objects.objects[checkpoint_key(physical_hash(raw))] = raw
    workshop.datasets["all"] = await rewrite(dataset, -1, other)


async def checkpoint_of_last(workshop: Workshop) -> pa.Table:
    step = (await workshop.steps("all"))[-1]
    assert step.new_checkpoint is not None
    key = checkpoint_key(step.new_checkpoint.physical_hash)
    return pq.read_table(pa.BufferReader(await workshop.datasets["all"].objects.read(key, size_max=2**20)))


def parquet(records: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(records, sink, compression="zstd")
    raw: bytes = sink.getvalue().to_pybytes()
    return raw


async def test_steps_that_remember_are_valid(kept: Workshop) -> None:
    report = await verified(kept, "all")
    assert (report.verdict, report.findings) == (Verdict.VALID, [])


async def test_other_bytes_of_the_same_records_are_valid(kept: Workshop) -> None:
    await replace_checkpoint(kept, parquet(await checkpoint_of_last(kept)))
    assert (await verified(kept, "all")).verdict is Verdict.VALID


async def test_a_record_that_is_missing_in_a_checkpoint_is_a_mismatch(kept: Workshop) -> None:
    await replace_checkpoint(kept, parquet((await checkpoint_of_last(kept)).slice(1)))
    report = await verified(kept, "all")
    assert [step.verdict for step in report.steps or ()] == [StepVerdict.VALID, StepVerdict.MISMATCH]
    assert report.findings[0].message == "the checkpoint has other records than those that have to be remembered"


async def test_a_checkpoint_that_is_no_such_file_is_a_mismatch(kept: Workshop) -> None:
    await replace_checkpoint(kept, b"something else")
    assert (await verified(kept, "all")).verdict is Verdict.INVALID


async def test_a_missing_checkpoint_is_a_mismatch(kept: Workshop) -> None:
    kept.datasets["all"] = await rewrite(kept.datasets["all"], -1, lambda event: replace(event, new_checkpoint=None))
    assert (await verified(kept, "all")).verdict is Verdict.INVALID
