"""Column definitions of read steps."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.ddl import read_ddl
from opendatafabric.errors import MalformedData
from opendatafabric.limits import DDL_CHARACTERS_MAX, DDL_DEPTH_MAX

TYPES = {
    "STRING": pa.string(),
    "VARCHAR(20)": pa.string(),
    "CHARACTER VARYING(3)": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "TINYINT UNSIGNED": pa.uint8(),
    "SMALLINT UNSIGNED": pa.uint16(),
    "INT": pa.int32(),
    "integer unsigned": pa.uint32(),
    "BIGINT": pa.int64(),
    "BIGINT UNSIGNED": pa.uint64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DOUBLE PRECISION": pa.float64(),
    "DECIMAL(10, 2)": pa.decimal128(10, 2),
    "DECIMAL(40,2)": pa.decimal256(40, 2),
    "NUMERIC(5)": pa.decimal128(5, 0),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("ns", "UTC"),
    "TIMESTAMP(3)": pa.timestamp("ms", "UTC"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("ns", "UTC"),
    "BYTEA": pa.binary(),
    "INT[]": pa.list_(pa.int32()),
    "ARRAY<STRUCT<a INT, b STRING>>": pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])),
}


@pytest.mark.parametrize(("text", "data_type"), TYPES.items(), ids=TYPES)
def test_a_type_is_read_as_the_reference_reads_it(text: str, data_type: pa.DataType) -> None:
    assert read_ddl([f"a {text}"]) == pa.schema([("a", data_type)])


def test_columns_may_be_null_unless_they_say_not_null() -> None:
    schema = read_ddl(["a INT NOT NULL", "b INT NULL", "c INT"])
    assert [field.nullable for field in schema] == [False, True, True]


def test_names_keep_their_case_and_quoted_ones_may_hold_anything() -> None:
    assert read_ddl(["Ab INT", '"two ""words"".x" INT', "`tick` INT"]).names == ["Ab", 'two "words".x', "tick"]


def test_one_text_may_hold_several_columns() -> None:
    assert read_ddl(["a INT, b DECIMAL(4, 2)", "c INT"]).names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        (["a INT", "b TEXTT"], "definition 2, character 3: expected a type"),
        (["a INT", "a STRING"], "definition 2, character 1: column 'a' is there twice"),
        (["a-b INT"], "definition 1, character 2: this is no part of a definition"),
        (["a INT PRIMARY KEY"], "definition 1, character 7: expected a comma or NOT NULL"),
        (["a DECIMAL(2,5)"], "definition 1, character 3: no such type: a scale of 5"),
        (["a DECIMAL(99)"], "definition 1, character 3: no such type"),
        (["a TIMESTAMP(4)"], "0, 3, 6 or 9 digits"),
        (["a INT NOT"], "definition 1, character 10: expected NULL"),
        (["a"], "definition 1, character 2: expected a type"),
        ([""], "expected the name of a column"),
    ],
)
def test_what_is_no_definition_is_refused_with_its_place(definitions: list[str], message: str) -> None:
    with pytest.raises(MalformedData, match=message):
        read_ddl(definitions)


def test_types_are_nested_only_so_deep() -> None:
    depth = DDL_DEPTH_MAX
    read_ddl(["a " + "ARRAY<" * (depth - 1) + "INT" + ">" * (depth - 1)])
    with pytest.raises(MalformedData, match="too deep"):
        read_ddl(["a " + "ARRAY<" * depth + "INT" + ">" * depth])


def test_a_list_that_is_too_long_is_refused() -> None:
    with pytest.raises(MalformedData, match="too long"):
        read_ddl(["a" * DDL_CHARACTERS_MAX + " INT"])


@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_text_is_a_schema_or_an_error(definitions: list[str]) -> None:
    with suppress(MalformedData):
        assert isinstance(read_ddl(definitions), pa.Schema)
