"""The answer to a request, in the form that it asks for. Runs in the process of a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Protocol

import pyarrow as pa

from opendatafabric.errors import EngineUnavailable
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.query.answer_form import FileKind
from pipeline.query.json_answer import write_json
from pipeline.query.request import QueryRequest, QueryTable, RecordsWanted
from pipeline.reading.writers import FileFormat, write_file
from storage.records.moment import schema_of
from storage.records.records import records
from storage.records.state import Wanted


class Answer(Protocol):
    """Batches of one schema."""

    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...


def write_answer(request: QueryRequest, sink: BinaryIO) -> None:
    """Answer ``request`` into ``sink``.

    Raises:
        InvalidQuery, LimitExceeded, MalformedData, UnsupportedOperation: it cannot be answered.
        EngineUnavailable: there is no DataFusion.
    """
    answer = _answer_to(request)
    batches = _between(answer, request.skip, request.limits.rows)
    shape = request.form.shape
    if isinstance(shape, FileKind):
        write_file(answer.schema, batches, FileFormat(shape.value), sink)
    else:
        write_json(answer.schema, batches, request.form, sink)


def _answer_to(request: QueryRequest) -> Answer:
    if request.wanted is not None:
        return _Records(request.tables[0], request.wanted)
    try:
        from pipeline.query.tables import SqlAnswer  # noqa: PLC0415 - records are read without it
    except ImportError:
        raise EngineUnavailable("the package datafusion is not installed", hint="odf-repository[query]") from None
    return SqlAnswer(request)


class _Records:
    """Records of one table by their offsets."""

    def __init__(self, table: QueryTable, wanted: RecordsWanted) -> None:
        self.schema = schema_of(table.known, wanted.columns)
        self._table, self._wanted = table, wanted

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        table, wanted = self._table, self._wanted
        paths = dict(zip(table.known.slices, table.files(), strict=True))
        offsets = OffsetInterval(wanted.first, wanted.last)
        asked = Wanted(table.state, table.as_of)
        return records(table.known, paths.__getitem__, asked, columns=wanted.columns, offsets=offsets)


def _between(batches: Iterable[pa.RecordBatch], skip: int, rows: int | None) -> Iterator[pa.RecordBatch]:
    """Without the first ``skip`` rows, and at most ``rows`` of the others."""
    left = rows
    for batch in batches:
        taken = batch.slice(skip, left)
        skip = max(0, skip - batch.num_rows)
        left = None if left is None else left - taken.num_rows
        if taken.num_rows:
            yield taken
        if left == 0:
            return
