"""Records of a data slice against what its block says of them: logical hash, offsets, schema, watermark.

Everything here reads one open Parquet file in a worker thread and yields findings. Whether the bytes of the file are
the right ones is the question of ``objects.py``; a file may fail either without the other. See the ODF specification,
Common Data Schema, Data Hashing and Watermark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

import numpy as np
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
from verify.time_span import TimeSpan, as_milliseconds, first_other, instant_of, moment_text

_INT64_MAX: Final = 2**63 - 1
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
    system_time: Instant | None = None
    """Of the block; ``system_time_before`` is that of the data block before. Where they are not known, any will do."""
    system_time_before: Instant | None = None


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
    """Offsets without a gap, system times that are those of the block, and the watermark, in one pass."""
    offset_name = claims.vocab.offset_column or "offset"
    event_name = claims.vocab.event_time_column or "event_time"
    system_name = claims.vocab.system_time_column or "system_time"
    if offset_name not in records.schema.names:
        yield _differs("offsets-differ", f"the slice has no column {offset_name!r}", offset_name, None)
        return
    expected, wrong, strange = claims.data_slice.offset_interval.start, None, None
    happened, arrived, block_time = TimeSpan(), TimeSpan(), as_milliseconds(claims.system_time)
    wanted = {offset_name, event_name, system_name}
    for batch in records.batches(columns=[name for name in records.schema.names if name in wanted]):
        if wrong is None:
            wrong = _first_wrong_offset(batch.column(offset_name), expected)
        happened = happened.with_column(batch, event_name)
        arrived = arrived.with_column(batch, system_name)
        if strange is None and block_time is not None and arrived.has_other_than(block_time):
            strange = expected + first_other(batch.column(system_name), block_time)
        expected += batch.num_rows
    if wrong is not None:
        differs = _differs("offsets-differ", "the offsets do not count through the interval of the block", *wrong)
        yield replace(differs, column=offset_name)
    if strange is not None:
        yield replace(_strange_time(arrived, claims), offset=strange, column=system_name)
    yield from _check_watermark(happened.last, claims)


def _first_wrong_offset(offsets: pa.Array, start: int) -> tuple[object, object] | None:
    if start + len(offsets) > _INT64_MAX:
        return start, offsets[0].as_py() if len(offsets) else None
    expected = pa.array(np.arange(start, start + len(offsets), dtype=np.int64))
    same = pc.fill_null(pc.equal(offsets.cast(pa.int64()), expected), False)
    first = pc.index(same, False).as_py()
    return None if first < 0 else (expected[first].as_py(), offsets[first].as_py())


def _strange_time(arrived: TimeSpan, claims: SliceClaims) -> Finding:
    """Records that do not say that they came when their block did. Another time is odd; one after the block, or before
    the records that came earlier, is out of order."""
    block, before = as_milliseconds(claims.system_time), as_milliseconds(claims.system_time_before)
    assert arrived.first is not None and arrived.last is not None and block is not None  # noqa: PT018
    in_order = arrived.last <= block and (before is None or before <= arrived.first)
    return Finding(
        Check.RECORDS,
        "system-time-differs" if in_order else "system-time-out-of-order",
        "the system times of the records are not that of their block",
        Severity.WARNING if in_order else Severity.DAMAGE,
        expected=moment_text(block),
        found=str(arrived),
    )


def _check_watermark(latest: int | None, claims: SliceClaims) -> Iterator[Finding]:
    """Whether the watermark of a root is where ingest puts it; an explicit one may lie elsewhere, hence a warning."""
    if not isinstance(claims.event, AddData) or latest is None:
        return
    arrived = instant_of(latest)
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
