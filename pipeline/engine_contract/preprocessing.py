"""Preprocess queries by engines elsewhere: an engine of ours that hands the query of a source on, and does the rest.

What the source gave is read here, in the sandbox, into one file; the other engine makes a file of it; the ingest then
goes on with that one. The rules for records hold as ever: nothing of what the other engine gives is believed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.errors import ProtocolViolation
from opendatafabric.limits import JOB_S_MAX
from opendatafabric.metadata.engine_messages import RawQueryRequest, RawQueryResponseSuccess
from opendatafabric.metadata.sources import ReadStepParquet
from opendatafabric.metadata.transform import Transform
from pipeline.engine_contract.elsewhere import EnginePlace, EnginesElsewhere
from pipeline.ingest import JOB, Engine
from pipeline.ingest_request import SPOILED, IngestAnswer, IngestRequest, RowCounts
from pipeline.merge import takes_op
from pipeline.worker_place import JobFolders

READ_JOB: Final = "read-source"


@dataclass(frozen=True, slots=True)
class PreprocessElsewhere:
    """``engine``, but preprocess queries of engines that are ``elsewhere`` are asked there."""

    engine: Engine
    elsewhere: EnginesElsewhere

    def folders(self) -> AbstractContextManager[JobFolders]:
        """Those of the engine."""
        return self.engine.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of a job.

        Raises, of an engine elsewhere:
            InvalidQuery: in its words.
            EngineUnavailable, EngineFailed, EngineDied: as ``ask`` and ``reached``.
            ProtocolViolation: what it made is not what it says.
        """
        request = IngestRequest.from_message(arguments) if job == JOB else None
        query = None if request is None else request.source.preprocess
        place = None if query is None else self.elsewhere.place_of(query)
        if request is None or query is None or place is None:
            return await self.engine.run(job, arguments)
        return await self._ingested(request, query, place)

    async def _ingested(self, request: IngestRequest, query: Transform, place: EnginePlace) -> dict[str, Any]:
        found = _beside(request, "read")
        told = await self.engine.run(READ_JOB, replace(request, made=found).to_message())
        if told["records"] is None:
            return IngestAnswer(RowCounts()).to_message()
        read = RowCounts(int(told["records"]))
        result = await self._result(request, query, place, found)
        if result is None:
            return IngestAnswer(read).to_message()
        source = replace(request.source, read=ReadStepParquet(), preprocess=None)
        asked = replace(request, source=source, file=result, is_preprocessed=True)
        answer = await self.engine.run(JOB, asked.to_message())
        return answer if answer == SPOILED else {**answer, "rows": {**answer["rows"], "read": read.read}}

    async def _result(self, request: IngestRequest, query: Transform, place: EnginePlace, found: Path) -> Path | None:
        """The file with the result; ``None`` if it has no records, and nobody knows yet what columns there are."""
        from pipeline.engine_contract.client import ask  # noqa: PLC0415 - of the extra `spark`
        from pipeline.engine_contract.methods import RAW_QUERY  # noqa: PLC0415
        from pipeline.engine_contract.reached import reached  # noqa: PLC0415

        target = _beside(request, "preprocessed")
        async with reached(place, self.elsewhere, _folders_of(request)) as other:
            paths = [other.path_of(each) for each in (found, target)]
            asked = RawQueryRequest((paths[0],), query, paths[1])
            said = await ask(other.address, RAW_QUERY, asked, timeout_s=JOB_S_MAX)
        return await asyncio.to_thread(_looked_at, request, said, target)


def _beside(request: IngestRequest, name: str) -> Path:
    """A new file where the job leaves its slice."""
    return request.made.with_name(f"{name}-{secrets.token_hex(4)}")


def _folders_of(request: IngestRequest) -> JobFolders:
    """Those of the job: nothing but what is given and made counts for an engine elsewhere."""
    given, made = request.file.parent, request.made.parent
    return JobFolders(given, made, projections=made, chains=made)


def _looked_at(request: IngestRequest, said: RawQueryResponseSuccess, target: Path) -> Path | None:
    if target.exists() != (said.num_records > 0):
        raise ProtocolViolation("the engine left another file than it says", found=f"{said.num_records} records")
    if said.num_records or request.schema is None:
        return target if said.num_records else None
    pq.write_table(arrow_schema(request.schema).empty_table().select(_columns_of_sources(request)), target)
    return target


def _columns_of_sources(request: IngestRequest) -> Sequence[str]:
    """The columns of the dataset that its source gives."""
    assert request.schema is not None  # there is one
    schema: pa.Schema = arrow_schema(request.schema)
    own = {request.vocabulary.offset_column, request.vocabulary.system_time_column}
    own |= set() if takes_op(request.source.merge) else {request.vocabulary.operation_type_column}
    return [name for name in schema.names if name not in own]
