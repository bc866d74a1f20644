"""How a schema may evolve (rules S1 to S9), and the comparison of schemas under it."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from opendatafabric.chain.rules import check_block, warnings_of
from opendatafabric.chain.schema_changes import ChangeKind, schema_changes
from opendatafabric.errors import ChainError
from opendatafabric.metadata.data_schema import (
    DataField,
    DataSchema,
    DataType,
    DataTypeInt32,
    DataTypeInt64,
    DataTypeList,
    DataTypeMap,
    DataTypeOption,
    DataTypeString,
    DataTypeStruct,
)
from opendatafabric.metadata.events import SetDataSchema, SetVocab, UnknownEvent
from opendatafabric.metadata.slices import ExtraAttributes
from tests.opendatafabric.chain.chain_samples import ROOT, Event, next_block, state_after

TEXT, NUMBER = DataTypeString(), DataTypeInt32()
EXTRA = ExtraAttributes('{"example.com/note":"x"}')


def of(*fields: DataField, extra: ExtraAttributes | None = None) -> SetDataSchema:
    return SetDataSchema(schema=DataSchema(fields, extra))


def column(name: str, data_type: DataType, extra: ExtraAttributes | None = None) -> DataField:
    return DataField(name, data_type, extra)


def maybe(data_type: DataType) -> DataTypeOption:
    return DataTypeOption(data_type)


def legacy(*fields: pa.Field) -> SetDataSchema:
    return SetDataSchema(raw_arrow_schema=bare_schema(pa.schema(fields)))


def bare_schema(schema: pa.Schema) -> bytes:
    """The FlatBuffer of Arrow's Schema table: the message around it, with its root moved to the table inside."""
    message = bytearray(schema.serialize().to_pybytes()[8:])
    (table,) = struct.unpack_from("<I", message)
    (to_vtable,) = struct.unpack_from("<i", message, table)
    (header_field,) = struct.unpack_from("<H", message, table - to_vtable + 8)
    (to_header,) = struct.unpack_from("<I", message, table + header_field)
    struct.pack_into("<I", message, 0, table + header_field + to_header)
    return bytes(message)


def verdict(earlier: Event, new: SetDataSchema) -> str:
    """``accepted``, or the rule that refuses ``new`` behind ``earlier``."""
    state = state_after(ROOT, earlier)
    try:
        check_block(state, next_block(state, new))
    except ChainError as refusal:
        return refusal.rule
    return "accepted"


CITY = of(column("city", TEXT))
PLACE = of(column("place", DataTypeStruct((column("x", maybe(NUMBER)),))))
TAGS = of(column("tags", DataTypeList(TEXT)))
BY_NAME = of(column("map", DataTypeMap(TEXT, NUMBER)))


def place(*fields: DataField) -> SetDataSchema:
    return of(column("place", DataTypeStruct(fields)))


@pytest.mark.parametrize(
    ("earlier", "new", "expected"),
    [
        pytest.param(CITY, legacy(pa.field("other", pa.int64())), "accepted", id="S1 legacy form is not compared"),
        pytest.param(SetVocab(), CITY, "accepted", id="S3 nothing to compare with"),
        pytest.param(CITY, CITY, "S4", id="S4 identical"),
        pytest.param(CITY, of(column("city", TEXT, EXTRA)), "accepted", id="S5 attributes of a field"),
        pytest.param(CITY, of(column("city", TEXT), extra=EXTRA), "accepted", id="S5 attributes of the schema"),
        pytest.param(
            of(column("a", TEXT), column("b", NUMBER)),
            of(column("b", NUMBER), column("a", TEXT)),
            "accepted",
            id="S5 order",
        ),
        pytest.param(CITY, of(column("city", TEXT), column("new", maybe(TEXT))), "accepted", id="S6 optional field"),
        pytest.param(CITY, of(column("city", TEXT), column("new", TEXT)), "S6", id="S6 required field"),
        pytest.param(of(column("a", TEXT), column("b", TEXT)), of(column("a", TEXT)), "S7", id="S7 removed"),
        pytest.param(CITY, of(column("town", maybe(TEXT))), "S7", id="S7 renamed"),
        pytest.param(CITY, of(column("city", NUMBER)), "S7", id="S7 type"),
        pytest.param(CITY, of(column("city", maybe(TEXT))), "S7", id="S7 became optional"),
        pytest.param(of(column("city", maybe(TEXT))), CITY, "S7", id="S7 became required"),
        pytest.param(
            of(column("a", TEXT), column("b", TEXT)),
            of(column("b", NUMBER), column("a", TEXT)),
            "S7",
            id="S7 type behind another order",
        ),
        pytest.param(PLACE, place(column("x", maybe(NUMBER)), column("y", maybe(TEXT))), "accepted", id="S8 optional"),
        pytest.param(PLACE, place(column("x", maybe(NUMBER)), column("y", TEXT)), "S8", id="S8 required"),
        pytest.param(PLACE, place(column("x", NUMBER)), "S8", id="S8 became required"),
        pytest.param(PLACE, place(column("x", maybe(NUMBER), EXTRA)), "accepted", id="S8 attributes inside"),
        pytest.param(TAGS, of(column("tags", DataTypeList(NUMBER))), "S8", id="S8 items of a list"),
        pytest.param(TAGS, of(column("tags", DataTypeList(TEXT, 3))), "S7", id="S7 length of a list"),
        pytest.param(BY_NAME, of(column("map", DataTypeMap(TEXT, maybe(NUMBER)))), "S7", id="S7 inside a map"),
        pytest.param(
            legacy(pa.field("city", pa.string())), of(column("city", TEXT)), "accepted", id="S9 optionality is ignored"
        ),
        pytest.param(legacy(pa.field("city", pa.string())), of(column("city", NUMBER)), "S7", id="S9 type is not"),
        pytest.param(SetDataSchema(raw_arrow_schema=b"no schema"), CITY, "S9", id="S9 unreadable"),
        pytest.param(UnknownEvent(10, "newer"), CITY, "accepted", id="newer data type before"),
    ],
)
def test_a_schema_behind_another(earlier: Event, new: SetDataSchema, expected: str) -> None:
    assert verdict(earlier, new) == expected


def test_a_refused_schema_is_refused_with_the_path_of_each_change() -> None:
    state = state_after(ROOT, PLACE)
    with pytest.raises(ChainError) as caught:
        check_block(state, next_block(state, place(column("x", maybe(TEXT)), column("y", TEXT))))
    assert caught.value.found == "place.x: type changed; place.y: required field added"


def test_system_columns_of_other_types_are_a_warning_only() -> None:
    state = state_after(ROOT)
    block = next_block(state, of(column("offset", NUMBER)))
    check_block(state, block)
    (warning,) = warnings_of(state, block)
    assert warning.rule == "S2"
    assert warning.expected == "offset Int64, op Int32, system_time Timestamp"


def test_system_columns_are_looked_for_under_the_names_of_the_vocabulary() -> None:
    state = state_after(ROOT, SetVocab(offset_column="nr"))
    (warning,) = warnings_of(state, next_block(state, of(column("nr", DataTypeInt64()))))
    assert "nr" not in (warning.expected or "")


def test_a_legacy_schema_gives_no_warnings() -> None:
    state = state_after(ROOT)
    assert warnings_of(state, next_block(state, legacy(pa.field("x", pa.int8())))) == []


def test_identical_schemas_have_no_changes_even_with_a_name_twice() -> None:
    schema = DataSchema((column("a", TEXT), column("a", NUMBER)))
    assert schema_changes(schema, schema) == []


def test_changes_inside_lists_of_structs_carry_their_path() -> None:
    earlier = DataSchema((column("rows", DataTypeList(DataTypeStruct((column("x", NUMBER),)))),))
    new = DataSchema((column("rows", DataTypeList(DataTypeStruct((column("x", TEXT),)))),))
    (change,) = schema_changes(earlier, new)
    assert (change.kind, change.path) == (ChangeKind.TYPE_CHANGED, ("rows", "[]", "x"))
    assert change.nested


@pytest.mark.parametrize(
    "event", [SetDataSchema(), SetDataSchema(b"x", DataSchema(()))], ids=["neither form", "both forms"]
)
def test_a_schema_comes_in_one_form(event: SetDataSchema) -> None:
    state = state_after(ROOT)
    with pytest.raises(ChainError) as caught:
        check_block(state, next_block(state, event))
    assert caught.value.rule == "X3"
    check_block(state, next_block(state, event), strict=False)
