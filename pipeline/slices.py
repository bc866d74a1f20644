"""From records to the one Parquet file of a DataSlice, and everything a block says about it.

The contract with whoever computes records (ingest, transforms): give all of them, system columns included and in the
order of the offsets, as one table or piece by piece; what comes back is what ``AddData`` or ``ExecuteTransform`` need.
Spark never writes a slice: its rows come here through ``toArrow``. Storing the file and making the block belong to the
caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.changelog import DEFAULT_VOCABULARY
from opendatafabric.data.logical_hash import LogicalHasher, logical_hash_parquet
from opendatafabric.data.slice_format import check_slice_schema, first_wrong_offset, open_slice, row_groups
from opendatafabric.data.struct_nulls import depends_on_buffers, leaves
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import Hasher, Multihash
from pipeline.declared import to_declared

_THREADS: Final = 2
"""One writes, the other hashes columns: more gains nothing, for most of the time goes into SHA3 and compression."""


@dataclass(frozen=True, slots=True)
class WrittenSlice:
    """A Parquet file at ``path`` and what it holds; ``offset_interval`` and ``last_event_time`` are ``None`` if empty.

    ``last_event_time`` is the candidate for a watermark; a date counts as its midnight in UTC.
    """

    path: Path
    physical_hash: Multihash
    logical_hash: Multihash
    size: int
    rows: int
    offset_interval: OffsetInterval | None
    last_event_time: datetime | None

    def data_slice(self) -> DataSlice | None:
        """As a block says it; a file without records is no slice."""
        if self.offset_interval is None:
            return None
        return DataSlice(self.logical_hash, self.physical_hash, self.offset_interval, self.size)


def write_slice(
    records: pa.Table | Iterable[pa.Table],
    schema: pa.Schema,
    path: Path,
    vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY,
) -> WrittenSlice:
    """Write ``records`` in the declared ``schema`` to ``path``, which must not exist, hashing on the way.

    ``schema`` has the system columns first (``slice_format.system_fields``). Of pieces, those of two row groups are in
    memory. The file is not flushed to disk: storing it as an object does that.

    Raises:
        MalformedData: the records do not fit the schema, the schema is not one of a slice or has a type without a
            logical hash, or the offsets do not count up by one.
        OSError: the file cannot be written.
    """
    check_slice_schema(schema, vocabulary)
    passing = _Passing(vocabulary)
    pieces = passing.pieces([records] if isinstance(records, pa.Table) else records, schema)
    hasher = None if depends_on_buffers(schema) else LogicalHasher(schema)
    with path.open("xb") as file:
        sink = _HashingFile(file)
        with open_slice(sink, schema) as write, ThreadPoolExecutor(_THREADS) as threads:  # type: ignore[arg-type]
            _write_groups(row_groups(pieces, by_bytes=hasher is not None), write, hasher, threads)
    logical_hash = hasher.finish() if hasher is not None else logical_hash_parquet(str(path))
    written = sink.hasher
    return WrittenSlice(
        path, written.finish(), logical_hash, written.size, passing.rows, passing.interval, passing.last_event_time
    )


class _HashingFile:
    """A file that hashes what is written to it; as much of one as a Parquet writer asks for."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.hasher = Hasher()
        self._file = file

    def write(self, piece: Any) -> int:
        """To the file and into the hash."""
        self.hasher.update(memoryview(piece))
        return self._file.write(piece)

    def tell(self) -> int:
        """How much there is."""
        return self.hasher.size

    def flush(self) -> None:
        """The file is flushed when it is closed."""


def _write_groups(
    groups: Iterable[pa.Table],
    write: Callable[[pa.Table], None],
    hasher: LogicalHasher | None,
    threads: ThreadPoolExecutor,
) -> None:
    """While one is written and hashed, the next one is made ready."""
    working: list[Future[None]] = []
    for group in groups:
        _finish(working)
        working = [threads.submit(write, group)]
        if hasher is not None:
            working += _hash_columns(group, hasher, threads)
    _finish(working)


def _finish(working: Iterable[Future[None]]) -> None:
    for each in working:
        each.result()


def _hash_columns(records: pa.Table, hasher: LogicalHasher, threads: ThreadPoolExecutor) -> list[Future[None]]:
    batches = [leaves(batch) for batch in records.to_batches()]

    def take(index: int) -> None:
        for batch in batches:
            hasher.columns[index].update(batch[index])

    return [threads.submit(take, index) for index in range(len(hasher.columns))]


class _Passing:
    """What is to be said of records, gathered as they pass."""

    def __init__(self, vocabulary: DatasetVocabulary) -> None:
        self._vocabulary = vocabulary
        self._start: int | None = None
        self.rows = 0
        self.last_event_time: datetime | None = None

    @property
    def interval(self) -> OffsetInterval | None:
        """Of the offsets; ``None`` without records."""
        return None if self._start is None else OffsetInterval(self._start, self._start + self.rows - 1)

    def pieces(self, records: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
        """The pieces in ``schema``, once they have been looked at."""
        for piece in records:
            declared = to_declared(piece, schema)
            self._look(declared)
            yield declared

    def _look(self, records: pa.Table) -> None:
        offsets = records.column(self._vocabulary.offset_column)
        if self._start is None and len(offsets):
            self._start = offsets[0].as_py()
        for chunk in offsets.chunks:
            self._count(chunk)
        last = _last_event_time(records.column(self._vocabulary.event_time_column))
        known = [time for time in (self.last_event_time, last) if time is not None]
        self.last_event_time = max(known, default=None)

    def _count(self, offsets: pa.Array) -> None:
        position = (self._start or 0) + self.rows
        wrong = first_wrong_offset(offsets, position)
        if wrong is not None:
            raise MalformedData("the offsets do not count up", expected=position + wrong, found=offsets[wrong].as_py())
        self.rows += len(offsets)


def _last_event_time(times: pa.ChunkedArray) -> datetime | None:
    last: date | None = pc.max(times).as_py()
    if last is None or isinstance(last, datetime):
        return last
    return datetime(last.year, last.month, last.day, tzinfo=UTC)
