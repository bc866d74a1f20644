"""Times as text, as the reference reads them: RFC 3339, a blank for the T, no zone meaning UTC, or a date alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.errors import MalformedSource
from pipeline.readers.declared import RowPlace

_ZONE = r"(Z|[+-]\d\d:?\d\d)$"
_DATE_CHARACTERS = 10


def with_times(records: pa.Table, schema: pa.Schema, place: RowPlace) -> pa.Table:
    """The records with those columns as times that ``schema`` says are, errors as ``read_times``."""
    for index, field in enumerate(schema):
        if pa.types.is_timestamp(field.type):
            times = read_times(field.name, records.column(index), field.type, place)
            records = records.set_column(index, field.name, times)
    return records


def read_times(name: str, texts: pa.ChunkedArray, data_type: Any, place: RowPlace) -> pa.ChunkedArray:
    """The column as timestamps of ``data_type``.

    Raises:
        MalformedSource: names the row of the first text that is no time.
    """
    try:
        return _times(texts, data_type)
    except pa.ArrowException:
        row = _first_wrong(texts, data_type)
        raise MalformedSource(
            f"{place(row)}: column '{name}' has no readable time", found=texts[row].as_py(), hint="2024-01-31T12:00:00Z"
        ) from None


def _times(texts: pa.ChunkedArray, data_type: Any) -> pa.ChunkedArray:
    """Quick where all texts have a zone, or none has one."""
    precise = pa.timestamp("ns", "UTC")
    try:
        times = texts.cast(precise)
    except pa.ArrowException:
        try:
            times = pc.assume_timezone(texts.cast(pa.timestamp("ns")), "UTC")
        except pa.ArrowException:
            times = _with_zones(texts).cast(precise)
    return times if data_type == precise else times.cast(data_type, safe=False)


def _with_zones(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = pc.utf8_upper(texts)
    is_date = pc.equal(pc.utf8_length(texts), _DATE_CHARACTERS)
    texts = pc.if_else(is_date, pc.binary_join_element_wise(texts, "T00:00:00", ""), texts)
    has_zone = pc.match_substring_regex(texts, _ZONE)
    return pc.if_else(has_zone, texts, pc.binary_join_element_wise(texts, "Z", ""))


def _first_wrong(texts: pa.ChunkedArray, data_type: Any) -> int:
    """By halving: the first part of the column that cannot be read becomes smaller until it is one row."""
    start, count = 0, len(texts)
    while count > 1:
        half = count // 2
        try:
            _times(texts.slice(start, half), data_type)
            start, count = start + half, count - half
        except pa.ArrowException:
            count = half
    return start
