"""The last step of an engine: changes in their final order become the file of the next slice, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.changelog import OperationType
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetDataSchema
from pipeline.ingest_request import IngestAnswer, RowCounts, instant_of, milliseconds_of
from pipeline.prepared import slice_schema
from pipeline.slices import write_slice


class NextSlice(Protocol):
    """Of a request: which slice is to be written, and where."""

    @property
    def made(self) -> Path: ...
    @property
    def system_time(self) -> Instant: ...
    @property
    def vocabulary(self) -> DatasetVocabulary: ...
    @property
    def next_offset(self) -> int: ...


def write_changes(changes: Iterator[pa.Table], in_force: pa.Schema | None, request: NextSlice) -> IngestAnswer:
    """Write the operation and the other columns with offsets and the system time; ``in_force`` is the schema so far.

    There is at least one piece. Without any row there is no file. How many rows were read is left to be told.

    Raises:
        MalformedData: the changes do not fit the schema.
    """
    first = next(changes)
    declared = None if in_force is not None else first_schema(first.schema, request.vocabulary)
    schema = slice_schema(first.schema, request.vocabulary) if in_force is None else in_force
    passing = _Passing(request)
    written = write_slice(passing.pieces(chain([first], changes)), schema, request.made, request.vocabulary)
    if not written.rows:
        request.made.unlink()
    return IngestAnswer(passing.rows, declared, written.data_slice(), instant_of(written.last_event_time))


def first_schema(changes: pa.Schema, vocabulary: DatasetVocabulary) -> SetDataSchema:
    """What the first write of a dataset says of its columns."""
    return SetDataSchema(schema=arrow_schema_to_odf(slice_schema(changes, vocabulary)))


def count_changes(changes: pa.Table) -> RowCounts:
    """By their operations."""
    found = {each["values"]: each["counts"] for each in pc.value_counts(changes.column(0)).to_pylist()}
    return RowCounts(
        appended=found.get(OperationType.APPEND, 0),
        retracted=found.get(OperationType.RETRACT, 0),
        corrected=found.get(OperationType.CORRECT_TO, 0),
    )


class _Passing:
    """Gives changes their offsets and the system time, and counts them."""

    def __init__(self, request: NextSlice) -> None:
        self._vocabulary, self._offset = request.vocabulary, request.next_offset
        self._system_time = pa.scalar(milliseconds_of(request.system_time), TIMESTAMP)
        self.rows = RowCounts()

    def pieces(self, changes: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The records."""
        for piece in changes:
            offsets = pa.arange(self._offset, self._offset + len(piece))
            system_times = pa.repeat(self._system_time, len(piece))
            self._offset, self.rows = self._offset + len(piece), self.rows + count_changes(piece)
            yield piece.append_column(self._vocabulary.offset_column, offsets).append_column(
                self._vocabulary.system_time_column, system_times
            )
