"""An engine that remembers every record of its inputs, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.layout import checkpoint_key
from pipeline.epochs.checkpoint import read_checkpoint, write_checkpoint
from pipeline.epochs.records import TaggedRecords, in_milliseconds, tagged_records
from pipeline.transform.made import checkpoint_in
from pipeline.transform.request import TransformRequest
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop


class KeepingEngine(LocalEngine):
    """Computes as others do, and leaves a checkpoint of the dialect ``odf-epoch/1``; ``steps`` are its requests."""

    asked: list[TransformRequest]

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """As of another engine, with a checkpoint besides."""
        if job != "transform":
            return await super().run(job, arguments)
        in_datafusion = arguments["transform"].replace("engine: spark", "engine: datafusion")
        answer = await super().run(job, {**arguments, "transform": in_datafusion})
        request = TransformRequest.from_message(arguments)
        self.asked = [*getattr(self, "asked", []), request]
        assert request.memory is not None
        write_checkpoint(request.memory.made, _all(request))
        left = checkpoint_in(request.memory.made)
        assert left is not None
        return {**answer, "checkpoint": {"physical_hash": str(left.physical_hash), "size": left.size}}


def _all(request: TransformRequest) -> list[TaggedRecords]:
    assert request.memory is not None
    new = [tagged_records(each, in_milliseconds(request.memory.watermark_before)) for each in request.inputs]
    if request.memory.checkpoint is None:
        return new
    before = read_checkpoint(request.memory.checkpoint, [each.none() for each in new])
    return [one.followed_by(other) for one, other in zip(before, new, strict=True)]


async def kept_cities(workshop: Workshop, name: str) -> list[list[str]]:
    """Of each step what it remembers of the first input."""
    found = []
    for step in await workshop.steps(name):
        assert step.new_checkpoint is not None
        key = checkpoint_key(step.new_checkpoint.physical_hash)
        raw = await workshop.datasets[name].objects.read(key, size_max=2**20)
        kept = pq.read_table(pa.BufferReader(raw)).column("input_0").to_pylist()
        found.append([each["city"] for each in kept])
    return found
