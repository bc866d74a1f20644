"""Schemas in every format."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from opendatafabric.codec.plain import to_plain
from opendatafabric.codec.yaml_writer import write_yaml
from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.errors import UnsupportedOperation
from pipeline.query.answer_form import SchemaFormat
from pipeline.query.schema_text import schema_value

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("op", pa.int32(), nullable=False),
        pa.field("at (UTC)", pa.timestamp("ms", "UTC")),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("place", pa.struct([pa.field("id", pa.binary(4)), pa.field("n", pa.uint8())])),
    ]
)
PARQUET = """message arrow_schema {
  OPTIONAL INT64 offset;
  REQUIRED INT32 op;
  OPTIONAL INT64 at (UTC) (TIMESTAMP(MILLIS,true));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (5) price (DECIMAL(10,2));
  OPTIONAL group tags (LIST) {
    REPEATED group list {
      OPTIONAL BYTE_ARRAY element (STRING);
    }
  }
  OPTIONAL group place {
    OPTIONAL FIXED_LEN_BYTE_ARRAY (4) id;
    OPTIONAL INT32 n (INTEGER(8,false));
  }
}
"""


def field(name: str, data_type: Any, *, nullable: bool = True) -> dict[str, Any]:
    rest = {"dict_id": 0, "dict_is_ordered": False, "metadata": {}}
    return {"name": name, "data_type": data_type, "nullable": nullable, **rest}


def test_the_schema_of_arrow_is_in_the_words_of_rust() -> None:
    assert schema_value(SCHEMA, SchemaFormat.ARROW_JSON) == {
        "fields": [
            field("offset", "Int64"),
            field("op", "Int32", nullable=False),
            field("at (UTC)", {"Timestamp": ["Millisecond", "UTC"]}),
            field("price", {"Decimal128": [10, 2]}),
            field("tags", {"List": field(pa.list_(pa.string()).value_field.name, "Utf8")}),
            field("place", {"Struct": [field("id", {"FixedSizeBinary": 4}), field("n", "UInt8")]}),
        ],
        "metadata": {},
    }


def test_the_schema_of_parquet_is_a_message() -> None:
    assert schema_value(SCHEMA, SchemaFormat.PARQUET) == PARQUET


def test_the_schema_of_parquet_may_be_json() -> None:
    found = schema_value(SCHEMA, SchemaFormat.PARQUET_JSON)
    assert (found["name"], found["type"]) == ("arrow_schema", "struct")
    assert found["fields"][1] == {"name": "op", "repetition": "REQUIRED", "type": "INT32"}
    assert found["fields"][2]["logicalType"] == "TIMESTAMP(MILLIS,true)"
    assert [each["name"] for each in found["fields"][5]["fields"]] == ["id", "n"]


def test_the_schema_of_open_data_fabric_is_that_of_the_chain() -> None:
    plain = to_plain(arrow_schema_to_odf(SCHEMA))
    assert schema_value(SCHEMA, SchemaFormat.ODF_JSON) == plain
    assert schema_value(SCHEMA, SchemaFormat.ODF_YAML) == write_yaml(plain)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (pa.null(), "Null"),
        (pa.bool_(), "Boolean"),
        (pa.float16(), "Float16"),
        (pa.uint64(), "UInt64"),
        (pa.string_view(), "Utf8View"),
        (pa.large_binary(), "LargeBinary"),
        (pa.date32(), "Date32"),
        (pa.time32("s"), {"Time32": "Second"}),
        (pa.time64("ns"), {"Time64": "Nanosecond"}),
        (pa.duration("us"), {"Duration": "Microsecond"}),
        (pa.month_day_nano_interval(), {"Interval": "MonthDayNano"}),
        (pa.timestamp("us"), {"Timestamp": ["Microsecond", None]}),
        (pa.dictionary(pa.int32(), pa.string()), {"Dictionary": ["Int32", "Utf8"]}),
        (pa.list_(pa.field("x", pa.int8()), 3), {"FixedSizeList": [field("x", "Int8"), 3]}),
    ],
)
def test_every_type_has_its_name(kind: Any, written: Any) -> None:
    schema = pa.schema([("x", kind)])
    assert schema_value(schema, SchemaFormat.ARROW_JSON)["fields"] == [field("x", written)]


def test_maps_are_structs_of_entries() -> None:
    (found,) = schema_value(pa.schema([("x", pa.map_(pa.string(), pa.int8()))]), SchemaFormat.ARROW_JSON)["fields"]
    entries, is_sorted = found["data_type"]["Map"]
    assert [each["name"] for each in entries["data_type"]["Struct"]] == ["key", "value"]
    assert is_sorted is False


def test_a_type_without_a_name_is_refused() -> None:
    schema = pa.schema([("x", pa.run_end_encoded(pa.int32(), pa.string()))])
    with pytest.raises(UnsupportedOperation, match="no JSON form"):
        schema_value(schema, SchemaFormat.ARROW_JSON)
