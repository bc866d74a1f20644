"""Answers as JSON, cell by cell as the reference writes them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from opendatafabric.canonical_json import canonical_json, read_json_tokens
from opendatafabric.errors import UnsupportedOperation
from pipeline.query.answer_form import AnswerForm, JsonShape, SchemaFormat
from pipeline.query.json_answer import write_json

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
TABLE = pa.table({"b": [1, 2, 3], "a": ["x", "é\x7f", None]})


def written(table: pa.Table, form: AnswerForm, rows: int = 2) -> str:
    sink = io.BytesIO()
    write_json(table.schema, table.to_batches(max_chunksize=rows), form, sink)
    return sink.getvalue().decode()


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (pa.array([1e21, 1e-7, 0.1, 123456789.123]), "1e+21 1e-7 0.1 123456789.123"),
        (pa.array([1e300, -0.0, 3.0, 1e16]), "1e+300 -0.0 3.0 1e+16"),
        (pa.array([0.1, 3.0], pa.float32()), "0.1 3.0"),
        (pa.array([float("nan"), None, float("-inf")]), "null null null"),
        (pa.array([2**64 - 1], pa.uint64()), "18446744073709551615"),
        (pa.array([Decimal("1.50"), Decimal("-0.00")]), '"1.50" "0.00"'),
        (pa.array([date(2024, 1, 1)]), '"2024-01-01"'),
        (pa.array([NOON], pa.timestamp("ms", "UTC")), '"2024-01-31T12:00:00Z"'),
        (pa.array([NOON], pa.timestamp("us")), '"2024-01-31T12:00:00"'),
        (pa.array([b"\x00\xff"]), '"00ff"'),
        (pa.array([True, False, None]), "true false null"),
    ],
)
def test_cells_are_written_as_by_the_reference(array: pa.Array, text: str) -> None:
    found = written(pa.table({"x": array}), AnswerForm(JsonShape.AOA), rows=100)
    assert found == '{"data":[[' + "],[".join(text.split()) + ']],"dataFormat":"JsonAoA"}'


@pytest.mark.parametrize(
    ("shape", "data"),
    [
        (JsonShape.AOS, '[{"b":1,"a":"x"},{"b":2,"a":"é\x7f"},{"b":3,"a":null}]'),
        (JsonShape.SOA, '{"b":[1,2,3],"a":["x","é\x7f",null]}'),
        (JsonShape.AOA, '[[1,"x"],[2,"é\x7f"],[3,null]]'),
    ],
)
def test_columns_stand_as_in_the_schema(shape: JsonShape, data: str) -> None:
    assert written(TABLE, AnswerForm(shape)) == f'{{"data":{data},"dataFormat":"{shape}"}}'


@pytest.mark.parametrize("shape", list(JsonShape))
@pytest.mark.parametrize("schema_format", [None, *SchemaFormat])
def test_a_canonical_answer_can_be_hashed_as_it_is(shape: JsonShape, schema_format: SchemaFormat | None) -> None:
    text = written(TABLE, AnswerForm(shape, schema_format, canonical=True))
    assert canonical_json(read_json_tokens(text)).decode() == text


@pytest.mark.parametrize(
    ("shape", "data"), [(JsonShape.AOS, []), (JsonShape.SOA, {"b": [], "a": []}), (JsonShape.AOA, [])]
)
def test_an_answer_without_rows_has_its_shape(shape: JsonShape, data: Any) -> None:
    assert orjson.loads(written(TABLE.slice(0, 0), AnswerForm(shape)))["data"] == data


def test_two_columns_of_one_name_are_refused() -> None:
    columns: Sequence[Any] = [pa.array([1]), pa.array([2])]
    with pytest.raises(UnsupportedOperation, match="one name"):
        written(pa.Table.from_arrays(columns, ["x", "x"]), AnswerForm(JsonShape.AOA))
