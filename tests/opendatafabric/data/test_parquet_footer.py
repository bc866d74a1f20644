"""The outline of a Parquet footer, read before any library sees it."""

from __future__ import annotations

import base64
import io
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.parquet_footer import read_footer
from opendatafabric.errors import LimitExceeded, MalformedData, OdfError
from opendatafabric.limits import PARQUET_DEPTH_MAX, PARQUET_FIELDS_MAX


def footer_of(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    data = file.getvalue()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def schema_footer(children: list[int]) -> bytes:
    """A footer of nothing but a schema whose elements have so many children each."""
    elements = b"".join(b"\x55" + varint(count * 2) + b"\0" for count in children)
    return b"\x29\xfc" + varint(len(children)) + elements + b"\0"


SAMPLE = footer_of(pa.table({"a": [1], "b": [[{"c": "x"}]]}).replace_schema_metadata({"mine": "kept"}))


def test_the_embedded_arrow_schema_is_taken_out_and_hidden() -> None:
    table = pa.table({"a": pa.array([1], pa.date64())})
    footer = read_footer(footer_of(table))
    assert pa.ipc.read_schema(pa.py_buffer(base64.b64decode(footer.arrow_schema or b""))).field("a").type == pa.date64()
    assert b"ARROW:schema" not in (pq.read_metadata(io.BytesIO(footer.as_file)).metadata or {})


def test_without_an_embedded_schema_nothing_is_hidden() -> None:
    data = footer_of(pa.table({"a": [1]}), store_schema=False)
    footer = read_footer(data)
    assert footer.arrow_schema is None
    assert data in footer.as_file


def test_a_column_of_the_name_of_the_key_keeps_it() -> None:
    footer = read_footer(footer_of(pa.table({"ARROW:schema": ["ARROW:schema"]})))
    assert pq.read_metadata(io.BytesIO(footer.as_file)).schema.names == ["ARROW:schema"]
    assert footer.arrow_schema is not None


def test_other_metadata_stays() -> None:
    assert pq.read_metadata(io.BytesIO(read_footer(SAMPLE).as_file)).metadata[b"mine"] == b"kept"


def test_the_widest_and_deepest_schemas_are_read() -> None:
    assert read_footer(schema_footer([PARQUET_FIELDS_MAX - 1] + [0] * (PARQUET_FIELDS_MAX - 1)))
    assert read_footer(schema_footer([1] * (PARQUET_DEPTH_MAX - 1) + [0]))


@pytest.mark.parametrize(
    "children",
    [[PARQUET_FIELDS_MAX] + [0] * PARQUET_FIELDS_MAX, [1] * PARQUET_DEPTH_MAX + [0]],
    ids=["too wide", "too deep"],
)
def test_wider_and_deeper_ones_are_refused(children: list[int]) -> None:
    with pytest.raises(LimitExceeded):
        read_footer(schema_footer(children))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x29",
        b"\x29\xfc\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x29\xf5\x05",
        b"\x1f\0",
        b"\x1c" * 100,
        b"\x19" * 100,
        b"\x18\x7fabc",
        b"\x1b\x01\xcc" * 40,
    ],
    ids=[
        "empty",
        "cut",
        "long number",
        "list of the wrong kind",
        "unknown kind",
        "deep",
        "deep lists",
        "long text",
        "maps",
    ],
)
def test_bytes_that_are_no_footer_are_refused(data: bytes) -> None:
    with pytest.raises((MalformedData, LimitExceeded)):
        read_footer(data)


def test_every_beginning_of_a_footer_is_refused() -> None:
    for size in range(len(SAMPLE)):
        with pytest.raises(MalformedData):
            read_footer(SAMPLE[:size])


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(OdfError):
        assert data in read_footer(data).as_file or b"ARROW:schema" in data
