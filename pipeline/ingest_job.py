"""The job of an engine: the bytes of a source become the next slice of a dataset.

read → preprocess → prepare → merge → write (spec: Data Ingestion). Files in, one file out; what is committed, and
whether, is decided elsewhere. The same request gives the same records, hash included.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_schema import arrow_schema_to_odf, read_legacy_schema
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.changelog import OperationType
from opendatafabric.data.odf_schema import odf_schema_to_arrow
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetDataSchema
from pipeline.history import open_history
from pipeline.ingest_request import SPOILED, IngestAnswer, IngestRequest, RowCounts, instant_of
from pipeline.jobs import JobContext, JsonObject
from pipeline.merge import MergeContext, merge_records, takes_op
from pipeline.prepared import prepare, slice_schema
from pipeline.preprocess import run_preprocess
from pipeline.preprocess.default_step import run_default_step
from pipeline.projection.projection import Projection
from pipeline.projection.runs import SpoiledRunError
from pipeline.readers import read_records
from pipeline.slices import write_slice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tell = Callable[[JsonObject], object]
OpenSession = Callable[[], "SparkSession"]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
    given = read_records(request.file, request.source.read)
    if given is None:
        return IngestAnswer(RowCounts())
    _tell(tell, RowCounts(len(given)))
    in_force = None if request.schema is None else arrow_schema(request.schema)
    with_op = takes_op(request.source.merge)
    records = prepare(
        _preprocessed(open_session, given, request), request.vocabulary, takes_op=with_op, in_force=in_force
    )
    history = open_history(request.history, request.source.merge, in_force, request.vocabulary)
    changes = merge_records(records, request.source.merge, _merge_context(records, history, request))
    rows = _counted(changes.column(0), len(given))
    _tell(tell, rows)
    return _written_and_remembered(changes, history, rows, request)


def arrow_schema(event: SetDataSchema) -> pa.Schema:
    """The schema that records of a dataset have, text and bytes in their plain layout."""
    schema = (
        read_legacy_schema(event.raw_arrow_schema or b"") if event.schema is None else odf_schema_to_arrow(event.schema)
    )
    plain: pa.Schema = without_views(schema.empty_table()).schema
    return plain


def _tell(tell: Tell | None, rows: RowCounts) -> None:
    if tell is not None:
        tell({"rows": asdict(rows)})


def _preprocessed(open_session: OpenSession, given: pa.Table, request: IngestRequest) -> pa.Table:
    source = request.source
    if source.preprocess is not None:
        return run_preprocess(open_session, given, source.preprocess)
    if source.read.schema:
        return given
    return run_default_step(given, request.vocabulary, op_is_data=not takes_op(source.merge))


def _merge_context(records: pa.Table, history: Projection | None, request: IngestRequest) -> MergeContext:
    fallback = pa.scalar(_milliseconds(request.event_time), TIMESTAMP)
    event_time: Any = records.schema.field(request.vocabulary.event_time_column).type
    return MergeContext(history, request.vocabulary, fallback.cast(event_time, safe=False))


def _written_and_remembered(
    changes: pa.Table, history: Projection | None, rows: RowCounts, request: IngestRequest
) -> IngestAnswer:
    """The slice, and beside it the runs that know of it: each takes about one core."""
    if request.schema is not None:
        declared, schema = None, arrow_schema(request.schema)
    else:
        schema = slice_schema(changes.schema, request.vocabulary)
        declared = SetDataSchema(schema=arrow_schema_to_odf(schema))
        history = open_history(request.history, request.source.merge, arrow_schema(declared), request.vocabulary)
    with ThreadPoolExecutor(1) as beside:
        remembering = beside.submit(_remembered, history, changes)
        answer = _written(changes, schema, rows, request)
        return replace(answer, schema=declared, runs=remembering.result())


def _remembered(history: Projection | None, changes: pa.Table) -> tuple[Path, ...] | None:
    if history is None:
        return None
    history.add(changes)
    return history.runs


def _written(changes: pa.Table, schema: pa.Schema, rows: RowCounts, request: IngestRequest) -> IngestAnswer:
    if not len(changes):
        return IngestAnswer(rows)
    records = _with_system_columns(changes, request)
    written = write_slice(records, schema, request.made, request.vocabulary)
    return IngestAnswer(rows, None, written.data_slice(), instant_of(written.last_event_time))


def _with_system_columns(changes: pa.Table, request: IngestRequest) -> pa.Table:
    vocabulary: DatasetVocabulary = request.vocabulary
    start = request.next_offset
    offsets = pa.arange(start, start + len(changes))
    system_time = pa.repeat(pa.scalar(_milliseconds(request.system_time), TIMESTAMP), len(changes))
    return changes.append_column(vocabulary.offset_column, offsets).append_column(
        vocabulary.system_time_column, system_time
    )


def _counted(operations: Any, rows_read: int) -> RowCounts:
    found = {each["values"]: each["counts"] for each in pc.value_counts(operations).to_pylist()}
    return RowCounts(
        rows_read,
        found.get(OperationType.APPEND, 0),
        found.get(OperationType.RETRACT, 0),
        found.get(OperationType.CORRECT_TO, 0),
    )


def _milliseconds(moment: Instant) -> int:
    """Since 1970, cut below."""
    moment = moment.cut_to_milliseconds()
    since = moment.to_datetime() - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000
