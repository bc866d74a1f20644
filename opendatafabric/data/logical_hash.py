"""The logical hash of records, ``arrow0-sha3-256``: the same for the same records, however they are stored.

It is the sha3-256 of a header of field names and of one digest for every leaf column; each column has a hasher of its
own, fed its type and then its values (spec: Logical Hash; the arrow-digest scheme, version 0). Batches, row groups,
encodings and compression do not matter, but for the exception explained in ``struct_nulls.py``. Columns are independent
of each other: a caller that has threads may feed them side by side through ``LogicalHasher.columns``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import BinaryIO, Final

import pyarrow as pa

from opendatafabric.data.column_bytes import column_bytes
from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.data.struct_nulls import Leaf, leaves
from opendatafabric.data.type_codes import (
    LeafColumn,
    leaf_columns,
    schema_header,
    type_code,
    unhashable,
    values_are_hashable,
)
from opendatafabric.errors import MalformedData
from opendatafabric.multihash import HashCodec, Multihash

_STEP_ROWS: Final = 65_536
"""Rows turned into bytes at a time: more gains nothing, and memory stays small."""


class ColumnHasher:
    """The hasher of one leaf column. Different columns may be fed from different threads; one column by one at a time.

    Raises:
        MalformedData: the type has no logical hash.
    """

    __slots__ = ("_state", "column")

    def __init__(self, column: LeafColumn) -> None:
        self.column = column
        self._state = hashlib.sha3_256(type_code(column))

    def update(self, leaf: Leaf) -> None:
        """Take the column's slots of the next batch.

        Raises:
            MalformedData: values of a type that has a code but no values (null).
        """
        if not values_are_hashable(self.column.type):
            raise unhashable(self.column)
        for start in range(0, len(leaf.array), _STEP_ROWS):
            valid = None if leaf.valid is None else leaf.valid[start : start + _STEP_ROWS]
            self._state.update(column_bytes(leaf.array.slice(start, _STEP_ROWS), valid).data)

    def digest(self) -> bytes:
        """The 32 bytes that enter the hash of the records."""
        return self._state.digest()


class LogicalHasher:
    """Takes records batch by batch.

    ``update`` feeds all columns in turn; alternatively feed ``columns[i]`` the leaf ``leaves(batch)[i]``, in any order
    of the columns, as long as each column sees the batches in order.

    Raises:
        MalformedData: a column whose type has no logical hash; the message names column and type.
    """

    __slots__ = ("columns", "schema")

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.columns: tuple[ColumnHasher, ...] = tuple(ColumnHasher(column) for column in leaf_columns(schema))

    def update(self, batch: pa.RecordBatch) -> None:
        """Take the next batch; batches of no rows change nothing.

        Raises:
            MalformedData: a batch with other columns or types than the schema, or values that cannot be hashed.
        """
        found = leaves(batch)
        if [leaf.array.type for leaf in found] != [column.column.type for column in self.columns]:
            raise MalformedData("a batch has other columns than the first", expected=self.schema, found=batch.schema)
        for column, leaf in zip(self.columns, found, strict=True):
            column.update(leaf)

    def finish(self) -> Multihash:
        """The hash of all records so far; more may follow."""
        return join_columns(self.schema, self.columns)


def join_columns(schema: pa.Schema, columns: Iterable[ColumnHasher]) -> Multihash:
    """The hash of the records, from the names in the schema and the columns fed so far."""
    state = hashlib.sha3_256(schema_header(schema))
    for column in columns:
        state.update(column.digest())
    return Multihash(HashCodec.ARROW0_SHA3_256, state.digest())


def logical_hash_table(records: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]) -> Multihash:
    """The logical hash of records in memory, batch by batch as they are given.

    Raises:
        MalformedData: a type that has no logical hash, batches of different schemas, or no batch at all.
    """
    if isinstance(records, pa.Table | pa.RecordBatch):
        return logical_hash_batches(records.schema, _batches(records))
    batches = iter(records)
    first = next(batches, None)
    if first is None:
        raise MalformedData("no batch, and so no schema to hash", hint="give an empty table instead")
    hasher = LogicalHasher(first.schema)
    hasher.update(first)
    return _take(hasher, batches)


def logical_hash_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Multihash:
    """The logical hash of batches of a known schema; there may be none.

    Raises:
        MalformedData: as ``LogicalHasher``.
    """
    return _take(LogicalHasher(schema), batches)


def _take(hasher: LogicalHasher, batches: Iterable[pa.RecordBatch]) -> Multihash:
    for batch in batches:
        hasher.update(batch)
    return hasher.finish()


def _batches(records: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    return iter([records] if isinstance(records, pa.RecordBatch) else records.to_batches())


def logical_hash_parquet(source: str | BinaryIO) -> Multihash:
    """The logical hash of a data slice: of its records as the reference reads them back from the file.

    ``source`` is a path or an open binary file that can seek; records are read a bounded number at a time.

    Raises:
        MalformedData: no readable Parquet file, or a type that has no logical hash.
        LimitExceeded: a footer, schema or batch beyond ``limits.py``.
        OSError: the file itself cannot be read.
    """
    with closing(ParquetRecords(source)) as records:
        columns = [ColumnHasher(leaf.column) for leaf in records.leaves]
        for batch in records.leaf_batches():
            for column, leaf in zip(columns, batch, strict=True):
                column.update(leaf)
        return join_columns(records.schema, columns)
