"""Records of a data slice against what its block says of them: logical hash, offsets, schema, watermark.

Everything here reads one open Parquet file in a worker thread and yields findings. Whether the bytes of the file are
the right ones is the question of ``objects.py``; a file may fail either without the other. See the ODF specification,
Common Data Schema, Data Hashing and Watermark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.chain.schema_changes import ChangeKind, schema_changes
from opendatafabric.data.arrow_schema import arrow_schema_to_odf, read_legacy_schema
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.errors import LimitExceeded, OdfError
from opendatafabric.instant import Instant
from opendatafabric.metadata.data_schema import DataSchema
from opendatafabric.metadata.events import AddData, DataEvent, SetDataSchema, SetVocab, UnknownEvent
from opendatafabric.metadata.slices import DataSlice
from verify.report import Check, Finding, Severity

_INT64_MAX: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNREADABLE: Final = (
    OdfError,
    pa.ArrowException,
    OSError,
    ValueError,
    KeyError,
    OverflowError,
    MemoryError,
    RecursionError,
)
"""What a Parquet file that is none may end in, here or in Arrow."""

_SAME_DATA: Final = frozenset({ChangeKind.ATTRIBUTES, ChangeKind.BECAME_OPTIONAL, ChangeKind.BECAME_REQUIRED})
"""Differences between a file and the schema in force that do not change what the records are."""


@dataclass(frozen=True, slots=True)
class SliceClaims:
    """What the chain says of a slice, by its block and by the blocks before it."""

    data_slice: DataSlice
    event: DataEvent
    schema: SetDataSchema | UnknownEvent | None
    vocab: SetVocab
    watermark_before: Instant | None


def check_records(file: BinaryIO, claims: SliceClaims) -> tuple[int, list[Finding]]:
    """How many records ``file`` (a real one, with a descriptor) holds, and what is wrong with them.

    Any bytes may be in there: what cannot be read is a finding too.
    """
    findings: list[Finding] = []
    count = 0
    try:
        with closing(ParquetRecords(_again(file))) as records:
            count = records.num_rows
            findings.extend(_check_count(count, claims))
            findings.extend(_check_schema(records, claims))
            findings.extend(_check_columns(records, claims))
        findings.extend(_check_logical_hash(file, claims))
    except _UNREADABLE as error:
        findings.append(_unreadable(error))
    return count, findings


def _again(file: BinaryIO) -> BinaryIO:
    """The same file from its beginning, to be closed by whoever reads it."""
    file.seek(0)
    return os.fdopen(os.dup(file.fileno()), "rb")


def _unreadable(error: BaseException) -> Finding:
    unknown = isinstance(error, LimitExceeded | MemoryError)
    return Finding(
        Check.RECORDS,
        "records-unreadable",
        f"the records cannot be read: {_first_line(error)}",
        Severity.UNCHECKED if unknown else Severity.DAMAGE,
    )


def _check_count(found: int, claims: SliceClaims) -> Iterator[Finding]:
    interval = claims.data_slice.offset_interval
    expected = interval.end - interval.start + 1  # len() holds no number that large
    if found != expected:
        yield _differs("record-count-differs", "the slice has another number of records", expected, found)


def _check_schema(records: ParquetRecords, claims: SliceClaims) -> Iterator[Finding]:
    """Whether the columns are those in force, by the Parquet types or by the Arrow schema that a writer embedded."""
    if not isinstance(claims.schema, SetDataSchema):
        return
    declared = _declared(claims.schema)
    if not _differences(declared, records.schema):
        return
    differences = _differences(declared, records.embedded_schema or records.schema)
    if differences:
        message = "the columns are not those of the schema in force"
        yield _differs("schema-differs", message, None, "; ".join(differences[:20]))


def _differences(declared: DataSchema, found: pa.Schema) -> list[str]:
    changes = schema_changes(declared, arrow_schema_to_odf(found))
    return [str(change) for change in changes if change.kind not in _SAME_DATA]


def _check_columns(records: ParquetRecords, claims: SliceClaims) -> Iterator[Finding]:
    """Offsets without a gap, and the watermark by the highest event time, in one pass."""
    offset_name = claims.vocab.offset_column or "offset"
    time_name = claims.vocab.event_time_column or "event_time"
    if offset_name not in records.schema.names:
        yield _differs("offsets-differ", f"the slice has no column {offset_name!r}", offset_name, None)
        return
    expected, wrong, latest = claims.data_slice.offset_interval.start, None, None
    for batch in records.batches():
        if wrong is None:
            wrong = _first_wrong_offset(batch.column(offset_name), expected)
        expected += batch.num_rows
        latest = max((each for each in (latest, _latest(batch, time_name)) if each is not None), default=None)
    if wrong is not None:
        yield _differs("offsets-differ", "the offsets do not count through the interval of the block", *wrong)
    yield from _check_watermark(latest, claims)


def _first_wrong_offset(offsets: pa.Array, start: int) -> tuple[object, object] | None:
    if start + len(offsets) > _INT64_MAX:
        return start, offsets[0].as_py() if len(offsets) else None
    expected = pa.array(range(start, start + len(offsets)), pa.int64())
    same = pc.fill_null(pc.equal(offsets.cast(pa.int64()), expected), False)
    first = pc.index(same, False).as_py()
    return None if first < 0 else (expected[first].as_py(), offsets[first].as_py())


def _latest(batch: pa.RecordBatch, name: str) -> int | None:
    """Milliseconds since 1970 of the highest event time; dates count as midnight in UTC."""
    if name not in batch.schema.names:
        return None
    highest = pc.max(batch.column(name))
    if not (pa.types.is_timestamp(highest.type) or pa.types.is_date(highest.type)):
        return None
    value = highest.cast(pa.timestamp("ms"), safe=False).value
    return None if value is None else int(value)


def _check_watermark(latest: int | None, claims: SliceClaims) -> Iterator[Finding]:
    """Whether the watermark of a root is where ingest puts it; an explicit one may lie elsewhere, hence a warning."""
    if not isinstance(claims.event, AddData) or latest is None:
        return
    arrived = Instant.from_datetime(_EPOCH + timedelta(milliseconds=latest))
    before, found = claims.watermark_before, claims.event.new_watermark
    expected = arrived if before is None else max(before, arrived)
    if found != expected:
        yield Finding(
            Check.RECORDS,
            "watermark-differs",
            "the watermark is not the highest event time so far",
            Severity.WARNING,
            expected=str(expected),
            found="none" if found is None else str(found),
            hint="right if it was set by hand",
        )


def _check_logical_hash(file: BinaryIO, claims: SliceClaims) -> Iterator[Finding]:
    found = logical_hash_parquet(_again(file))
    if found != claims.data_slice.logical_hash:
        yield _differs(
            "records-differ", "the records are not those of the block", claims.data_slice.logical_hash, found
        )


def _declared(schema: SetDataSchema) -> DataSchema:
    return schema.schema or arrow_schema_to_odf(read_legacy_schema(schema.raw_arrow_schema or b""))


def _differs(code: str, message: str, expected: object, found: object) -> Finding:
    texts = [None if value is None else str(value) for value in (expected, found)]
    return Finding(Check.RECORDS, code, message, expected=texts[0], found=texts[1])


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:300] if lines else type(error).__name__
