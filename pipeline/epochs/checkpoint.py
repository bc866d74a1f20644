"""The checkpoint of this dialect: the records that a query still needs, as they came, in one Parquet file.

Anybody can make it again from the inputs, so it is compared by what is in it. Its form is part of the dialect:

```
input        int32      which input of the transform, from 0
offset       int64      of the record in its input
op           int32      of the record
watermark    timestamp  of the input, before the block that brought the record; null if there was none
input_0      struct     the columns of data of input 0; null in records of others
input_1      …
```

Rows are in the order of inputs and offsets. The schema says ``odf.checkpoint: odf-epoch/1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from opendatafabric.data.slice_format import ROW_GROUP_ROWS, TIMESTAMP
from opendatafabric.errors import MalformedData, UnsupportedOperation
from pipeline.epochs.records import NO_WATERMARK, TaggedRecords
from pipeline.epochs.version import VERSION
from pipeline.merge.equality import differing
from pipeline.projection.keys import combined

_FORM: Final = {b"odf.checkpoint": VERSION.encode()}
_COMPARED_TOGETHER: Final = 65_536
_TAGS: Final = (
    pa.field("input", pa.int32(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("op", pa.int32(), nullable=False),
    pa.field("watermark", TIMESTAMP),
)


def write_checkpoint(path: Path, kept: Sequence[TaggedRecords]) -> None:
    """Write what was kept of each input, in the order of the offsets; the same records give the same bytes.

    Raises:
        MalformedData: columns of types that Parquet cannot hold.
    """
    fields = [pa.field(_name(index), _struct(each)) for index, each in enumerate(kept)]
    schema = pa.schema([*_TAGS, *fields], _FORM)
    try:
        with pq.ParquetWriter(path, schema, version="2.6", compression="snappy", write_statistics=False) as writer:
            for index in [index for index, each in enumerate(kept) if len(each)]:
                writer.write_table(_as_rows(index, kept[index], schema), row_group_size=ROW_GROUP_ROWS)
    except pa.ArrowException as error:
        raise MalformedData(f"records of an input cannot be kept in a checkpoint: {error}") from None


def read_checkpoint(path: Path, empty: Sequence[TaggedRecords]) -> tuple[TaggedRecords, ...]:
    """What was kept of each input, in the columns of ``empty``: what was not there then is null.

    Raises:
        UnsupportedOperation: another engine left the file.
        MalformedData: it is damaged, or has columns of other types.
    """
    with _opened(path) as file:
        try:
            rows = file.read()
            return tuple(_kept(rows, index, each) for index, each in enumerate(empty))
        except (pa.ArrowException, OSError, KeyError) as error:
            raise MalformedData(f"the checkpoint of the last step cannot be read: {error}") from None


def same_checkpoint(one: Path, other: Path) -> bool:
    """Whether both hold the same records; a file that is no such checkpoint is like no other. Reads them piecewise."""
    try:
        with _opened(one) as theirs, _opened(other) as ours:
            same_form = theirs.schema_arrow.remove_metadata() == ours.schema_arrow.remove_metadata()
            if not same_form or theirs.metadata.num_rows != ours.metadata.num_rows:
                return False
            return all(map(_same, _pieces(theirs), _pieces(ours)))
    except (UnsupportedOperation, MalformedData, pa.ArrowException, OSError):
        return False


def _name(index: int) -> str:
    return f"input_{index}"


def _struct(each: TaggedRecords) -> pa.DataType:
    return pa.struct([field.remove_metadata() for field in each.records.schema])


def _as_rows(index: int, each: TaggedRecords, schema: pa.Schema) -> pa.Table:
    count = len(each)
    marks = pa.array(each.late_before, pa.int64(), mask=each.late_before == NO_WATERMARK).cast(TIMESTAMP)
    tags = [pa.array(np.full(count, index), pa.int32()), pa.array(each.offsets), pa.array(each.operations), marks]
    values = pa.StructArray.from_arrays(
        [combined(column) for column in each.records.columns], fields=list(_struct(each))
    )
    structs = [values if field.name == _name(index) else pa.nulls(count, field.type) for field in list(schema)[4:]]
    return pa.table([*tags, *structs], schema=schema)


def _kept(rows: pa.Table, index: int, empty: TaggedRecords) -> TaggedRecords:
    """Of one input; of an input that was added since, nothing."""
    mine = rows.filter(pc.equal(rows.column("input"), index))
    marks = mine.column("watermark").cast(pa.int64()).fill_null(NO_WATERMARK)
    return TaggedRecords(
        _columns(mine, index, empty.records.schema),
        empty.event_time,
        mine.column("offset").to_numpy(),
        mine.column("op").to_numpy(),
        marks.to_numpy(),
    )


def _columns(rows: pa.Table, index: int, schema: pa.Schema) -> pa.Table:
    if _name(index) not in rows.column_names:
        return schema.empty_table()
    values = combined(rows.column(_name(index)))
    there = {field.name: column for field, column in zip(values.type, values.flatten(), strict=True)}
    columns = [there[field.name] if field.name in there else pa.nulls(len(rows), field.type) for field in schema]
    return pa.table([column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def _pieces(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    batches: Iterator[pa.RecordBatch] = file.iter_batches(batch_size=_COMPARED_TOGETHER)
    return batches


def _same(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    return len(one) == len(other) and not any(
        differing(*columns).any() for columns in zip(one.columns, other.columns, strict=True)
    )


def _opened(path: Path) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(path, arrow_extensions_enabled=False)
    except (pa.ArrowException, OSError) as error:
        raise _foreign() from error
    if (file.schema_arrow.metadata or {}).get(b"odf.checkpoint") != VERSION.encode():
        file.close()
        raise _foreign()
    return file


def _foreign() -> UnsupportedOperation:
    return UnsupportedOperation(
        "the last step was made by another engine, which left a checkpoint of its own",
        expected=f"a checkpoint of {VERSION}",
        hint="a query that remembers records does not go on from another engine: derive a new dataset",
    )
