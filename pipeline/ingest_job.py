"""The job of an engine: the bytes of a source become the next slice of a dataset.

read → preprocess → prepare → merge → write (spec: Data Ingestion). Files in, one file out; what is committed, and
whether, is decided elsewhere. The same request gives the same records, hash included.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pyarrow as pa

from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.metadata.sources import MergeStrategyAppend
from pipeline.append_job import OpenSession, append_slice
from pipeline.changes_file import count_changes, first_schema, write_changes
from pipeline.history import open_history
from pipeline.ingest_request import SPOILED, IngestAnswer, IngestRequest, RowCounts
from pipeline.jobs import JobContext, JsonObject
from pipeline.merge import Merged, merge_records, takes_op
from pipeline.merge.context import merge_context
from pipeline.prepared import prepare
from pipeline.preprocess import preprocessed
from pipeline.projection.projection import Projection
from pipeline.projection.runs import SpoiledRunError
from pipeline.readers import read_records

Tell = Callable[[JsonObject], object]


def ingest_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """``make_slice`` as a job of the worker."""
    try:
        return make_slice(context.open_session, IngestRequest.from_message(arguments), context.tell).to_message()
    except SpoiledRunError:
        return SPOILED


def make_slice(open_session: OpenSession, request: IngestRequest, tell: Tell | None = None) -> IngestAnswer:
    """Write the next slice, if the source has something new. A session is opened by what needs Spark alone.

    ``tell`` hears how many records were read, then what became of them.

    Raises:
        MalformedSource, MalformedData, IncompatibleSchema, InvalidQuery: what the source gave does not hold.
        UnsupportedOperation: an option or engine that is not there.
        SpoiledRunError: what was kept of the history is damaged.
    """

    def told(rows: RowCounts) -> None:
        if tell is not None:
            tell({"rows": asdict(rows)})

    if isinstance(request.source.merge, MergeStrategyAppend):
        return append_slice(open_session, request, told)
    given = read_records(request.file, request.source.read)
    if given is None:
        return IngestAnswer(RowCounts())
    told(RowCounts(len(given)))
    in_force = None if request.schema is None else arrow_schema(request.schema)
    found = pa.concat_tables(preprocessed(open_session, iter([given]), request))
    records = prepare(found, request.vocabulary, takes_op=takes_op(request.source.merge), in_force=in_force)
    history = open_history(request.history, request.source.merge, in_force, request.vocabulary)
    merged = merge_records(records, request.source.merge, merge_context(records.schema, history, request))
    rows = replace(count_changes(merged.records), read=len(given))
    told(rows)
    return replace(_written_and_remembered(merged, history, in_force, request), rows=rows)


def _written_and_remembered(
    merged: Merged, history: Projection | None, in_force: pa.Schema | None, request: IngestRequest
) -> IngestAnswer:
    """The slice, and beside it the runs that know of it: each takes about one core."""
    if in_force is None:
        schema = arrow_schema(first_schema(merged.records.schema, request.vocabulary))
        history = open_history(request.history, request.source.merge, schema, request.vocabulary)
    with ThreadPoolExecutor(1) as beside:
        remembering = beside.submit(_remembered, history, merged)
        answer = write_changes(iter([merged.records]), in_force, request)
        return replace(answer, runs=remembering.result())


def _remembered(history: Projection | None, merged: Merged) -> tuple[str, ...] | None:
    if history is None:
        return None
    history.add(merged.records, merged.keys)
    return tuple(path.name for path in history.runs)
