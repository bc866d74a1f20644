"""An ingest that appends: piece by piece from the first byte to the last, so memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from opendatafabric.data.event_schema import arrow_schema
from pipeline.changes_file import write_changes
from pipeline.ingest_request import IngestAnswer, IngestRequest, RowCounts
from pipeline.merge.context import merge_context
from pipeline.merge.time_order import OutOfTimeOrderError, already_in_order, put_in_order
from pipeline.prepared import prepare
from pipeline.preprocess import preprocessed
from pipeline.readers import read_pieces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OpenSession = Callable[[], "SparkSession"]
Told = Callable[[RowCounts], object]
Order = Callable[[Iterator[pa.Table], str], Iterator[pa.Table]]


def append_slice(open_session: OpenSession, request: IngestRequest, told: Told) -> IngestAnswer:
    """Write the next slice; errors as ``make_slice``. Where rows turn out not to be in order it begins anew.

    ``told`` hears of the records read so far, and in the end of those added.
    """
    try:
        return _append(open_session, request, already_in_order, told)
    except OutOfTimeOrderError:
        request.made.unlink(missing_ok=True)
        return _append(open_session, request, put_in_order, told)


def _append(open_session: OpenSession, request: IngestRequest, order: Order, told: Told) -> IngestAnswer:
    given = read_pieces(request.file, request.source.read)
    if given is None:
        return IngestAnswer(RowCounts())
    in_force = None if request.schema is None else arrow_schema(request.schema)
    counted = _Counted(given, told)
    found = preprocessed(open_session, counted.pieces(), request)
    changes = order(_appended(found, in_force, request), request.vocabulary.event_time_column)
    answer = write_changes(changes, in_force, request)
    rows = replace(answer.rows, read=counted.rows)
    told(rows)
    return replace(answer, rows=rows)


def _appended(pieces: Iterator[pa.Table], in_force: pa.Schema | None, request: IngestRequest) -> Iterator[pa.Table]:
    """Every row as a record, each piece in the order of the input."""
    for piece in pieces:
        records = prepare(piece, request.vocabulary, takes_op=False, in_force=in_force)
        yield merge_context(records.schema, None, request).finished(records).records


class _Counted:
    """Counts ``rows`` as pieces pass, and tells of them."""

    def __init__(self, pieces: Iterator[pa.Table], told: Told) -> None:
        self._pieces, self._told, self.rows = pieces, told, 0

    def pieces(self) -> Iterator[pa.Table]:
        """As given."""
        for piece in self._pieces:
            self.rows += len(piece)
            self._told(RowCounts(self.rows))
            yield piece
