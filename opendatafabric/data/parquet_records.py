"""Reads the records of a Parquet file piece by piece, in the types and batches that the reference hashes.

Files come from strangers: the footer is checked before any library sees it (``parquet_footer.py``), records are read a
bounded number at a time, and whatever goes wrong in decoding is ``MalformedData``. A file is opened by the caller, or
here by its path; nothing else of the world is touched, and no threads are started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.data.decoded_nulls import Stretches, with_decoded_nulls
from opendatafabric.data.parquet_footer import Footer, read_footer
from opendatafabric.data.parquet_types import ParquetLeaf, decode_arrow_schema, parquet_leaves
from opendatafabric.data.parquet_values import as_hashed
from opendatafabric.data.struct_nulls import Leaf, depends_on_buffers, leaves
from opendatafabric.data.type_codes import leaf_columns
from opendatafabric.errors import LimitExceeded, MalformedData
from opendatafabric.limits import PARQUET_BATCH_BYTES_MAX, PARQUET_FOOTER_BYTES_MAX, READ_CHUNK_BYTES

REFERENCE_BATCH_ROWS: Final = 10_000
"""Rows that the reference hashes at a time; seen in the hash only where ``depends_on_buffers``."""
_BATCH_ROWS: Final = 32_768
_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8


class ParquetRecords:
    """A Parquet file whose schema has been read and checked.

    ``leaves`` are the columns that are hashed, ``schema`` has the names and nesting of all fields by Parquet types
    alone, ``embedded_schema`` the Arrow schema that a writer left in the file, ``num_rows`` is what the footer says.

    Raises:
        MalformedData: no Parquet file, or one with a type that has no logical hash.
        LimitExceeded: a footer, schema or batch beyond ``limits.py``.
        OSError: the file itself cannot be read.
    """

    def __init__(self, source: str | BinaryIO) -> None:
        self._opened_here = isinstance(source, str)
        self._source = pa.OSFile(source) if isinstance(source, str) else pa.PythonFile(source, mode="r")
        footer = read_footer(_footer_bytes(self._source))
        self.embedded_schema = None if footer.arrow_schema is None else decode_arrow_schema(footer.arrow_schema)
        with _reading():
            self._file = _open(self._source, footer, None)
            self.schema: pa.Schema = self._file.schema_arrow
            self.leaves = parquet_leaves(self.schema, _columns(self._file), self.embedded_schema)
            unit = _int96_unit(self.leaves)
            if unit not in (None, "ns"):
                self._file = _open(self._source, footer, unit)
        self.num_rows: int = self._file.metadata.num_rows

    def top_level_types(self) -> list[pa.DataType]:
        """The types of the top-level columns as they are hashed; structs by Parquet types alone."""
        leaf_types = iter([leaf.column.type for leaf in self.leaves])
        hashed = [[next(leaf_types) for _ in leaf_columns(pa.schema([field]))] for field in self.schema]
        return [
            field.type if pa.types.is_struct(field.type) else found[0]
            for field, found in zip(self.schema, hashed, strict=True)
        ]

    def close(self) -> None:
        """Let go of the file if it was opened here; a caller's file stays open."""
        if self._opened_here:
            self._source.close()

    def batches(
        self, rows: int = _BATCH_ROWS, columns: Sequence[str] | None = None, within: range | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The records in order, at most ``rows`` at a time, by Parquet types alone; all ``columns``, or those named.

        With ``within`` only row groups that hold some of those records are read, and batches without any are left out.

        Raises:
            MalformedData: damaged pages, or another number of rows than the footer says.
            LimitExceeded: a batch over ``PARQUET_BATCH_BYTES_MAX``.
        """
        found = 0
        groups, first, expected = self._groups(within)
        with _reading():
            for batch in self._file.iter_batches(
                batch_size=rows, row_groups=groups, columns=columns, use_threads=False
            ):
                if batch.nbytes > PARQUET_BATCH_BYTES_MAX:
                    raise LimitExceeded("records too large", expected=PARQUET_BATCH_BYTES_MAX, found=batch.nbytes)
                start, found = first + found, found + batch.num_rows
                if within is None or (start < within.stop and within.start < first + found):
                    yield batch
        if found != expected:
            raise MalformedData("wrong number of records", expected=expected, found=found)

    def _groups(self, within: range | None) -> tuple[list[int], int, int]:
        """Which row groups hold some of those records, the first of theirs, and how many they have together."""
        if within is None:
            return list(range(self._file.metadata.num_row_groups)), 0, self.num_rows
        if not within:
            return [], 0, 0
        ends = [0, *_row_group_ends(self._file.metadata)]
        stretches = list(pairwise(ends))
        needed = [index for index, (start, end) in enumerate(stretches) if start < within.stop and within.start < end]
        count = sum(stretches[index][1] - stretches[index][0] for index in needed)
        return needed, stretches[needed[0]][0] if needed else 0, count

    def leaf_batches(self) -> Iterator[list[Leaf]]:
        """The columns to be hashed, batch by batch, in the types of ``leaves``.

        Raises:
            MalformedData: as ``batches``; text that is not UTF-8.
        """
        if depends_on_buffers(self.schema):
            windows = self._reference_windows()
        else:
            windows = ((batch, [(0, batch.num_rows)]) for batch in self.batches())
        for batch, stretches in windows:
            with _reading():
                yield [
                    with_decoded_nulls(_converted(leaf, column), column, stretches)
                    for leaf, column in zip(leaves(batch), self.leaves, strict=True)
                ]

    def _reference_windows(self) -> Iterator[tuple[pa.RecordBatch, Stretches]]:
        """Batches of exactly ``REFERENCE_BATCH_ROWS`` rows (the last may be shorter), each with its row groups."""
        start = 0
        ends = _row_group_ends(self._file.metadata)
        for batch in _rebatched(self.batches(REFERENCE_BATCH_ROWS), REFERENCE_BATCH_ROWS):
            end = start + batch.num_rows
            borders = [start, *(border for border in ends if start < border < end), end]
            yield batch, [(a - start, b - start) for a, b in pairwise(borders)]
            start = end


def _converted(leaf: Leaf, column: ParquetLeaf) -> Leaf:
    return Leaf(as_hashed(leaf.array, column.column, int96=column.is_int96), leaf.valid, leaf.present)


def _open(source: pa.NativeFile, footer: Footer, int96_unit: str | None) -> Any:
    metadata = pq.read_metadata(pa.BufferReader(footer.as_file), arrow_extensions_enabled=False)
    return pq.ParquetFile(
        source,
        metadata=metadata,
        buffer_size=READ_CHUNK_BYTES,
        pre_buffer=False,
        coerce_int96_timestamp_unit=int96_unit,
        arrow_extensions_enabled=False,
    )


def _footer_bytes(source: pa.NativeFile) -> bytes:
    """The footer of the file: its length stands before the last four bytes."""
    size = source.size()
    tail = _read_at(source, max(0, size - _TAIL_BYTES), _TAIL_BYTES)
    if size < 2 * len(_MAGIC) + 4 or not tail.endswith(_MAGIC):
        raise MalformedData("not a Parquet file", hint="a plain, unencrypted file ends with PAR1")
    length = int.from_bytes(tail[:4], "little")
    if length > PARQUET_FOOTER_BYTES_MAX:
        raise LimitExceeded(
            "the footer of the Parquet file is too long", expected=PARQUET_FOOTER_BYTES_MAX, found=length
        )
    if length > size - _TAIL_BYTES - len(_MAGIC):
        raise MalformedData("the footer of the Parquet file is longer than the file")
    return _read_at(source, size - _TAIL_BYTES - length, length)


def _read_at(source: pa.NativeFile, position: int, size: int) -> bytes:
    source.seek(position)
    found: bytes = source.read(size)
    return found


def _columns(file: Any) -> list[Any]:
    return [file.schema.column(index) for index in range(file.metadata.num_columns)]


def _int96_unit(columns: tuple[ParquetLeaf, ...]) -> str | None:
    """The unit in which legacy timestamps are to be read, the finest of those asked for; ``None`` if there are none."""
    units = {_innermost(leaf.column.type).unit for leaf in columns if leaf.is_int96}
    return next((unit for unit in ("ns", "us", "ms", "s") if unit in units), None)


def _innermost(data_type: Any) -> Any:
    while pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type):
        data_type = data_type.value_type
    return data_type


def _row_group_ends(metadata: Any) -> list[int]:
    ends = [0]
    for index in range(metadata.num_row_groups):
        ends.append(ends[-1] + metadata.row_group(index).num_rows)
    return ends[1:]


def _rebatched(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same records in batches of exactly ``rows``, but for the last."""
    pending: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        pending.append(batch)
        count += batch.num_rows
        while count >= rows:
            whole = pa.concat_batches(pending)
            yield whole.slice(0, rows)
            pending, count = [whole.slice(rows)], count - rows
    if count:
        yield pa.concat_batches(pending)


@contextmanager
def _reading() -> Iterator[None]:
    """Turn what a library says about bad bytes into ``MalformedData``; failures of the disk stay ``OSError``."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise MalformedData(f"the Parquet file cannot be read: {error}") from error
