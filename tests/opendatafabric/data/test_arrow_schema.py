"""Arrow's schemas and ODF's: the golden blocks hold each schema in the legacy form, with and without attributes."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.codec.block_codec import decode_block
from opendatafabric.data.arrow_schema import arrow_schema_to_odf, read_legacy_schema
from opendatafabric.data.odf_schema import odf_schema_to_arrow
from opendatafabric.errors import MalformedData
from opendatafabric.metadata import data_schema as odf
from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.metadata.events import SetDataSchema
from tests.vectors.load import vectors

BLOCKS = {
    block["name"].removeprefix("arrow-schema/"): bytes.fromhex(block["flatbuffers_hex"])
    for block in vectors("blocks.json")
    if block["name"].startswith("arrow-schema/")
}
CONVERTIBLE = sorted(name.removesuffix("/odf") for name in BLOCKS if name.endswith("/odf"))
LEGACY_ONLY = sorted({name.removesuffix("/legacy") for name in BLOCKS if name.endswith("/legacy")} - {*CONVERTIBLE})


def event(name: str, form: str) -> SetDataSchema:
    found = decode_block(BLOCKS[f"{name}/{form}"]).block.event
    assert isinstance(found, SetDataSchema)
    return found


def legacy(name: str) -> pa.Schema:
    return read_legacy_schema(event(name, "legacy").raw_arrow_schema or b"")


def odf_schema(name: str, form: str = "odf") -> odf.DataSchema:
    found = event(name, form).schema
    assert found is not None
    return found


@pytest.mark.parametrize("name", CONVERTIBLE)
def test_a_legacy_schema_becomes_the_odf_schema_of_the_reference(name: str) -> None:
    assert arrow_schema_to_odf(legacy(name), encodings=True) == odf_schema(name)


@pytest.mark.parametrize("name", CONVERTIBLE)
def test_without_encodings_it_is_the_stripped_schema_of_the_reference(name: str) -> None:
    assert arrow_schema_to_odf(legacy(name)) == odf_schema(name, "odf_stripped")


@pytest.mark.parametrize("name", CONVERTIBLE)
def test_an_odf_schema_with_encodings_gives_the_arrow_schema_back(name: str) -> None:
    assert odf_schema_to_arrow(odf_schema(name)).equals(legacy(name), check_metadata=False)


@pytest.mark.parametrize("name", CONVERTIBLE)
def test_a_stripped_schema_survives_the_way_through_arrow(name: str) -> None:
    stripped = odf_schema(name, "odf_stripped")
    assert arrow_schema_to_odf(odf_schema_to_arrow(stripped)) == stripped


@pytest.mark.parametrize("name", LEGACY_ONLY)
def test_a_schema_that_the_reference_could_not_convert_is_refused_by_field_and_type(name: str) -> None:
    with pytest.raises(MalformedData, match=r"field '.+' of Arrow type .+ has no ODF type"):
        arrow_schema_to_odf(legacy(name))


def test_the_golden_blocks_hold_both_kinds() -> None:
    assert len(CONVERTIBLE) == 11
    assert LEGACY_ONLY == ["interval", "map"]


@pytest.mark.parametrize(
    "data_type",
    [
        pa.dictionary(pa.int32(), pa.string()),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.month_day_nano_interval(),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.struct([("inner", pa.month_day_nano_interval())]),
        pa.map_(pa.int32(), pa.decimal128(5, 2)),
    ],
    ids=str,
)
def test_types_without_an_odf_counterpart_are_refused(data_type: pa.DataType) -> None:
    with pytest.raises(MalformedData, match="has no ODF type"):
        arrow_schema_to_odf(pa.schema([("a", data_type)]))


def test_a_map_of_plain_types_is_carried_over() -> None:
    schema = pa.schema(
        [pa.field("m", pa.map_(pa.int32(), pa.field("value", pa.bool_(), nullable=False)), nullable=False)]
    )
    expected = odf.DataTypeMap(odf.DataTypeInt32(), odf.DataTypeBool(), keys_sorted=False)
    assert arrow_schema_to_odf(schema) == odf.DataSchema((odf.DataField("m", expected),))
    assert arrow_schema_to_odf(odf_schema_to_arrow(arrow_schema_to_odf(schema))) == arrow_schema_to_odf(schema)


def test_runs_and_list_views_become_attributes() -> None:
    schema = pa.schema([("r", pa.run_end_encoded(pa.int16(), pa.string())), ("v", pa.large_list_view(pa.int8()))])
    extras = [field.extra and field.extra.attributes for field in arrow_schema_to_odf(schema, encodings=True).fields]
    assert extras == [
        '{"arrow.apache.org/bufferEncoding":{"kind":"RunEnd","runEndsBitWidth":16}}',
        '{"arrow.apache.org/bufferEncoding":{"kind":"View","offsetBitWidth":64}}',
    ]


def test_an_extension_type_is_what_it_stores() -> None:
    schema = pa.schema([pa.field("u", pa.uuid(), nullable=False)])
    assert arrow_schema_to_odf(schema).fields[0].type == odf.DataTypeBinary(16)


def one_field(data_type: odf.DataType, extra: str | None = None) -> odf.DataSchema:
    return odf.DataSchema((odf.DataField("a", data_type, ExtraAttributes(extra) if extra else None),))


@pytest.mark.parametrize(
    "schema",
    [
        one_field(odf.DataTypeDecimal(77, 0)),
        one_field(odf.DataTypeDecimal(0, 0)),
        one_field(odf.DataTypeDecimal(5, 128)),
        one_field(odf.DataTypeBinary(2**31)),
        one_field(odf.DataTypeList(odf.DataTypeBool(), 2**63)),
        one_field(odf.DataTypeDecimal(10, 0), '{"arrow.apache.org/decimalEncoding":{"bitWidth":32}}'),
        one_field(odf.DataTypeDecimal(10, 0), '{"arrow.apache.org/decimalEncoding":{"bitWidth":"wide"}}'),
        one_field(odf.DataTypeString(), '{"arrow.apache.org/bufferEncoding":{"kind":"Rope"}}'),
    ],
)
def test_what_arrow_cannot_hold_is_refused(schema: odf.DataSchema) -> None:
    with pytest.raises(MalformedData, match="'a'"):
        odf_schema_to_arrow(schema)


def test_decimals_take_the_narrowest_usual_width() -> None:
    assert odf_schema_to_arrow(one_field(odf.DataTypeDecimal(38, 2))).field(0).type == pa.decimal128(38, 2)
    assert odf_schema_to_arrow(one_field(odf.DataTypeDecimal(39, 2))).field(0).type == pa.decimal256(39, 2)


def test_attributes_that_are_not_ours_do_not_matter() -> None:
    schema = one_field(odf.DataTypeString(), '{"arrow.apache.org/bufferEncoding":7,"kamu.dev/archetype":"Collection"}')
    assert odf_schema_to_arrow(schema).field(0).type == pa.string()


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 64, bytes(64), b"\x0c\0\0\0" + bytes(4)])
def test_bytes_that_are_no_legacy_schema_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedData, match="legacy Arrow schema"):
        read_legacy_schema(data)


@given(st.sampled_from([*CONVERTIBLE, *LEGACY_ONLY]), st.data())
def test_a_damaged_legacy_schema_is_read_or_refused_and_nothing_else(name: str, data: st.DataObject) -> None:
    whole = bytearray(event(name, "legacy").raw_arrow_schema or b"")
    position = data.draw(st.integers(0, len(whole) - 1))
    whole[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(position, len(whole)))
    with suppress(MalformedData):
        arrow_schema_to_odf(read_legacy_schema(bytes(whole[:cut])))


PRIMITIVES = st.sampled_from(
    [
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.string(),
        pa.large_binary(),
        pa.date64(),
        pa.timestamp("us", "UTC"),
        pa.null(),
    ]
)
TYPES = st.recursive(
    PRIMITIVES,
    lambda inner: st.one_of(
        st.builds(pa.list_, inner),
        st.builds(pa.list_, inner, st.integers(1, 5)),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda types: pa.struct([(str(i), t) for i, t in enumerate(types)])
        ),
    ),
    max_leaves=5,
)


def any_field(name: str, data_type: pa.DataType, is_nullable: bool) -> pa.Field:
    """A column of nothing but nulls is nullable: Arrow has no other."""
    return pa.field(name, data_type, is_nullable or pa.types.is_null(data_type))


@given(st.lists(st.builds(any_field, st.text(), TYPES, st.booleans()), max_size=4))
def test_any_schema_keeps_its_meaning_there_and_back(fields: list[pa.Field]) -> None:
    once = arrow_schema_to_odf(pa.schema(fields))
    assert arrow_schema_to_odf(odf_schema_to_arrow(once)) == once
