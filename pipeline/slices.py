"""From a table of records to the one Parquet file of a DataSlice, and everything a block says about it.

The contract with whoever computes records (ingest, transforms): give the complete table, system columns included and in
the order of the offsets; what comes back is what ``AddData`` or ``ExecuteTransform`` need. Spark never writes a slice:
its rows come here through ``toArrow``. Storing the file and making the block belong to the caller.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.changelog import DEFAULT_VOCABULARY
from opendatafabric.data.logical_hash import LogicalHasher, join_columns, logical_hash_parquet
from opendatafabric.data.slice_format import check_slice_schema, first_wrong_offset
from opendatafabric.data.slice_format import write_slice as write_parquet
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
    records: pa.Table, schema: pa.Schema, path: Path, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY
) -> WrittenSlice:
    """Write ``records`` in the declared ``schema`` to ``path``, which must not exist, hashing on the way.

    ``schema`` has the system columns first (``slice_format.system_fields``). The file is not flushed to disk: storing
    it as an object does that.

    Raises:
        MalformedData: the records do not fit the schema, the schema is not one of a slice or has a type without a
            logical hash, or the offsets do not count up by one.
        OSError: the file cannot be written.
    """
    check_slice_schema(schema, vocabulary)
    records = to_declared(records, schema)
    interval = _interval(records.column(vocabulary.offset_column))
    with path.open("xb") as file, ThreadPoolExecutor(_THREADS) as threads:
        sink = _HashingFile(file)
        writing = threads.submit(write_parquet, sink, records)  # type: ignore[arg-type]
        logical_hash = None if depends_on_buffers(schema) else _hash_columns(records, threads)
        writing.result()
    hasher = sink.hasher
    logical_hash = logical_hash or logical_hash_parquet(str(path))
    last = _last_event_time(records.column(vocabulary.event_time_column))
    return WrittenSlice(path, hasher.finish(), logical_hash, hasher.size, records.num_rows, interval, last)


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


def _hash_columns(records: pa.Table, threads: ThreadPoolExecutor) -> Multihash:
    hasher = LogicalHasher(records.schema)
    batches = [leaves(batch) for batch in records.to_batches()]

    def take(index: int) -> None:
        for batch in batches:
            hasher.columns[index].update(batch[index])

    for done in [threads.submit(take, index) for index in range(len(hasher.columns))]:
        done.result()
    return join_columns(records.schema, hasher.columns)


def _interval(offsets: pa.ChunkedArray) -> OffsetInterval | None:
    if not len(offsets):
        return None
    start = offsets[0].as_py()
    position = start
    for chunk in offsets.chunks:
        wrong = first_wrong_offset(chunk, position)
        if wrong is not None:
            raise MalformedData("the offsets do not count up", expected=position + wrong, found=chunk[wrong].as_py())
        position += len(chunk)
    return OffsetInterval(start, position - 1)


def _last_event_time(times: pa.ChunkedArray) -> datetime | None:
    last: date | None = pc.max(times).as_py()
    if last is None or isinstance(last, datetime):
        return last
    return datetime(last.year, last.month, last.day, tzinfo=UTC)
