"""The slices of an input as Spark reads them: in one partition, or divided, in the order of the offsets either way.

Spark puts parts of files into partitions by their size, the largest first. Only one file by itself, whose parts are of
one size, and what was sorted, come in order. What Spark takes a file for is kept by its layout, to be looked up once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import StructField, StructType

from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.data.slice_format import ROW_GROUP_ROWS, first_wrong_offset
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.carried import column_of, spark_schema, to_frame
from pipeline.transform.request import GivenInput

_SORTED_BYTES: Final = 16 * 1024 * 1024
"""Of small slices that are sorted together, in the memory of one task."""
_LAYOUTS_MAX: Final = 256
_ROW_METADATA: Final = b"org.apache.spark.sql.parquet.row.metadata"

_known: dict[tuple[str, bytes], StructType] = {}


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    size: int
    layout: tuple[str, bytes]
    """All that the schema that Spark has for it follows from."""


class SliceScan:
    """The new records of an input.

    Raises, also its methods:
        MalformedData: a slice cannot be read.
    """

    def __init__(self, session: SparkSession, given: GivenInput) -> None:
        self._session, self._given = session, given
        self._schema = spark_schema(arrow_schema(given.schema))
        slices = given.slices if given.interval is not None else ()
        with self._told_as_ours():
            self._files = [_looked_at(path) for path in slices]

    def in_one_partition(self) -> DataFrame:
        """In the order of the offsets."""
        return self._sorted(self._within(self._read(self._files))) if self._files else self._nothing()

    def in_order(self) -> DataFrame | None:
        """Partitions and the records in them come in the order of the offsets; ``None`` if the files are not in it."""
        if not self._files:
            return self._nothing()
        found = self._interval
        if found is None:
            return None
        records = reduce(DataFrame.unionAll, map(self._in_order, _groups(self._files)))
        wanted = self._given.interval
        assert wanted is not None  # there are files
        return records if wanted.start <= found.start and found.end <= wanted.end else self._within(records)

    @cached_property
    def _interval(self) -> OffsetInterval | None:
        """Of the records in the files, if each has the offset behind that of the one before."""
        with self._told_as_ours():
            column = self._given.vocabulary.offset_column
            offsets = (batch for file in self._files for batch in _column_of_file(file.path, column))
            return _counted(offsets)

    def _nothing(self) -> DataFrame:
        return to_frame(self._session, arrow_schema(self._given.schema).empty_table())

    def _in_order(self, files: Sequence[_File]) -> DataFrame:
        found = self._read(files)
        return found if len(files) == 1 else self._sorted(found)

    def _sorted(self, records: DataFrame) -> DataFrame:
        return records.coalesce(1).orderBy(column_of(records, self._given.vocabulary.offset_column))

    def _within(self, records: DataFrame) -> DataFrame:
        interval = self._given.interval
        assert interval is not None  # there are files
        offset = column_of(records, self._given.vocabulary.offset_column)
        return records.where(offset.between(lit(interval.start), lit(interval.end)))

    def _read(self, files: Sequence[_File]) -> DataFrame:
        """In the types that Spark has for the declared ones; what is younger than a slice is null."""
        with self._told_as_ours():
            found, schema = self._found(files)
        if [(field.name, field.dataType) for field in schema] == [(each.name, each.dataType) for each in self._schema]:
            return found
        return found.select(*(_column(found, schema, field) for field in self._schema))

    def _found(self, files: Sequence[_File]) -> tuple[DataFrame, StructType]:
        paths = [str(file.path) for file in files]
        if len({file.layout for file in files}) > 1:
            merged = self._session.read.option("mergeSchema", "true").parquet(*paths)
            return merged, merged.schema
        schema = self._schema_of(files[0])
        return self._session.read.schema(schema).parquet(*paths), schema

    def _schema_of(self, file: _File) -> StructType:
        if file.layout not in _known:
            if len(_known) >= _LAYOUTS_MAX:
                _known.clear()
            _known[file.layout] = self._session.read.parquet(str(file.path)).schema
        return _known[file.layout]

    @contextmanager
    def _told_as_ours(self) -> Iterator[None]:
        try:
            yield
        except (PySparkException, Py4JJavaError, pa.ArrowException, OSError) as error:
            told = (str(error).splitlines() or [""])[0][:500]
            raise MalformedData(f"the slices of input '{self._given.alias}' cannot be read: {told}") from None


def _looked_at(path: Path) -> _File:
    footer = pq.read_metadata(path)
    layout = str(footer.schema).partition("\n")[2], (footer.metadata or {}).get(_ROW_METADATA, b"")
    return _File(path, path.stat().st_size, layout)


def _groups(files: Sequence[_File]) -> Iterator[list[_File]]:
    """Neighbours of one layout that are small enough to be read together."""
    group: list[_File] = []
    for file in files:
        size = sum(each.size for each in group) + file.size
        if group and (file.layout != group[0].layout or size > _SORTED_BYTES):
            yield group
            group = []
        group.append(file)
    yield group


def _column_of_file(path: Path, name: str) -> Iterator[pa.Array]:
    for batch in pq.ParquetFile(path).iter_batches(ROW_GROUP_ROWS, columns=[name]):
        yield batch.column(name)


def _counted(pieces: Iterator[Any]) -> OffsetInterval | None:
    """The offsets, if they count up by one."""
    start, count = 0, 0
    for piece in pieces:
        if not len(piece) or not pa.types.is_integer(piece.type):
            return None
        start = start if count else piece[0].as_py() or 0
        if first_wrong_offset(piece, start + count) is not None:
            return None
        count += len(piece)
    return OffsetInterval(start, start + count - 1) if count else None


def _column(found: DataFrame, schema: StructType, field: StructField) -> Column:
    column = column_of(found, field.name) if field.name in schema.names else lit(None)
    return column.cast(field.dataType).alias(field.name)
