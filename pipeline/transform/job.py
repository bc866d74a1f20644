"""The job of an engine: the new records of the inputs become the next slice of a derivative.

query → check → write (spec: Derivative Transformations). Files in, one file out; what is committed, and whether, is
decided elsewhere. The same request gives the same records, hash included.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.errors import UnsupportedOperation
from pipeline.changes_file import write_changes
from pipeline.epochs.version import is_in_epochs
from pipeline.ingest_request import IngestAnswer, RowCounts
from pipeline.jobs import JobContext, JsonObject
from pipeline.transform.made import checkpoint_in
from pipeline.transform.output import as_changes, evolved
from pipeline.transform.request import ENGINES, TransformRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def transform_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """``make_derived_slice`` as a job of the worker; with the ``versions`` of what made it."""
    request = TransformRequest.from_message(arguments)
    answer = make_derived_slice(context.open_session, request, context.tell)
    return {**answer.to_message(), "versions": versions_of(context.open_session, request.engine)}


def make_derived_slice(
    open_session: Callable[[], SparkSession], request: TransformRequest, tell: Callable[[JsonObject], object]
) -> IngestAnswer:
    """Write the next slice, if the queries give any row, and a checkpoint, if they remember any.

    A session is opened by what needs Spark alone.

    Raises:
        InvalidQuery, LimitExceeded, IncompatibleSchema, MalformedData: queries or what they give do not hold.
        UnsupportedOperation, UnsupportedVersion: an engine, or a dialect of it, that is not there.
    """
    read = sum(len(each.interval) for each in request.inputs if each.interval is not None)
    tell({"rows": asdict(RowCounts(read))})
    with closing(compute(open_session, request)) as pieces:
        answer = write_rows(pieces, request)
    rows = replace(answer.rows, read=read)
    tell({"rows": asdict(rows)})
    checkpoint = None if request.memory is None else checkpoint_in(request.memory.made)
    return replace(answer, rows=rows, checkpoint=checkpoint)


def write_rows(pieces: Iterator[pa.Table], request: TransformRequest) -> IngestAnswer:
    """Write what the queries gave; errors are those of what does not fit the dataset, as ``make_derived_slice``."""
    in_force = None if request.schema is None else arrow_schema(request.schema)
    made = (
        as_changes(each, request.vocabulary, in_force, event_time_first=request.engine == "datafusion")
        for each in pieces
    )
    return _written(made, in_force, request)


def _written(changes: Iterator[pa.Table], in_force: pa.Schema | None, request: TransformRequest) -> IngestAnswer:
    """The slice in the schema in force, with the columns that are new behind it."""
    first = next(changes)
    more = None if request.schema is None else evolved(first.schema, request.schema)
    schema = in_force if more is None else arrow_schema(more)
    answer = write_changes(chain([first], changes), schema, request)
    return answer if more is None or answer.data is None else replace(answer, schema=more)


def versions_of(open_session: Callable[[], SparkSession], engine: str) -> dict[str, str]:
    """Of the software that the results of an engine of ours depend on."""
    if engine == "spark":
        from pipeline.session import versions  # noqa: PLC0415

        return versions(open_session())
    return {name: version(name) for name in (engine, "pyarrow")}


def compute(open_session: Callable[[], SparkSession], request: TransformRequest) -> Generator[pa.Table, None, None]:
    """What the queries give, piece by piece, in the engine that the transform names.

    There is at least one piece. The session is in use until the end of them, or until they are closed.

    Raises:
        InvalidQuery, …: as ``make_derived_slice``.
    """
    engine = request.transform.transform.engine
    if engine.lower() == "datafusion":
        from pipeline.transform.in_datafusion import run_transform as run_in_datafusion  # noqa: PLC0415

        yield run_in_datafusion(request)
    elif engine.lower() == "spark" and is_in_epochs(request.transform.transform):
        from pipeline.epochs.run import run_transform as run_in_epochs  # noqa: PLC0415

        yield from run_in_epochs(open_session(), request)
    elif engine.lower() == "spark":
        from pipeline.transform.in_spark import run_transform as run_in_spark  # noqa: PLC0415

        yield from run_in_spark(open_session(), request)
    else:
        raise UnsupportedOperation(
            f"the engine '{engine}' of the transform is not configured",
            expected=" or ".join(ENGINES),
            hint="if it runs somewhere, ODF_ENGINES says at which address",
        )
