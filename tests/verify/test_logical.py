"""Records of single slices against what their blocks say, with files that lie, differ in form only, or are hostile."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.instant import Instant
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeDate
from opendatafabric.metadata.events import AddData, ExecuteTransform, SetDataSchema, SetVocab, UnknownEvent
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash
from tests.opendatafabric.chain.test_schema_rules import bare_schema
from tests.verify.damage import SCHEMA, moment, parquet, records, slice_of
from verify.logical import SliceClaims, check_records
from verify.report import Finding, Severity

CITIES = ["a", None, "c"]
TABLE = records(0, CITIES)
THREE = OffsetInterval(0, 2)


def claims_of(data: bytes, **changes: Any) -> SliceClaims:
    """Claims that fit three records of ``SCHEMA``, but for ``changes``."""
    interval = changes.pop("interval", THREE)
    new_data = replace(slice_of(data, interval), **changes.pop("slice", {}))
    event = AddData(new_data=new_data, new_watermark=changes.pop("watermark", moment(2)))
    fitting = SliceClaims(new_data, event, SCHEMA, SetVocab(), None)
    return replace(fitting, **changes)


def checked(data: bytes, claims: SliceClaims) -> list[Finding]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        return check_records(file, claims)[1]


def codes(data: bytes, **changes: Any) -> list[str]:
    return [finding.code for finding in checked(data, claims_of(data, **changes))]


def test_a_slice_that_is_what_its_block_says_gives_nothing() -> None:
    assert codes(parquet(TABLE)) == []


def test_records_are_counted_by_the_file_and_not_by_the_block() -> None:
    data = parquet(TABLE)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        count, findings = check_records(file, claims_of(data, interval=OffsetInterval(0, 2**64 - 1)))
    assert count == 3
    assert [finding.code for finding in findings] == ["record-count-differs"]


@pytest.mark.parametrize(
    "options", [{"compression": "none"}, {"use_dictionary": False}, {"row_group_size": 1}], ids=str
)
def test_how_the_records_are_encoded_makes_no_difference(options: dict[str, Any]) -> None:
    hash_of_records = slice_of(parquet(TABLE), THREE).logical_hash
    assert codes(parquet(TABLE, **options), slice={"logical_hash": hash_of_records}) == []


@pytest.mark.parametrize("layout", [pa.large_string(), pa.string_view()], ids=str)
def test_layouts_of_text_are_the_same_to_the_schema(layout: pa.DataType) -> None:
    assert codes(parquet(records(0, CITIES, city=pa.array(CITIES, layout)))) == []


def test_a_required_column_may_be_nullable_in_the_file() -> None:
    nullable = [field.with_nullable(True) for field in TABLE.schema]
    required = [field.with_nullable(field.name == "city") for field in TABLE.schema]
    for fields in (nullable, required):
        assert codes(parquet(TABLE.cast(pa.schema(fields)))) == []


def test_a_legacy_schema_in_force_is_compared_too() -> None:
    same = SetDataSchema(raw_arrow_schema=bare_schema(TABLE.schema))
    other = SetDataSchema(raw_arrow_schema=bare_schema(TABLE.drop_columns(["city"]).schema))
    assert codes(parquet(TABLE), schema=same) == []
    assert codes(parquet(TABLE), schema=other) == ["schema-differs"]


def test_a_schema_that_is_not_understood_is_not_compared() -> None:
    assert codes(parquet(TABLE), schema=UnknownEvent(10, "a newer data type")) == []
    assert codes(parquet(TABLE), schema=None) == []


def test_columns_go_by_the_names_of_the_vocabulary() -> None:
    renamed = TABLE.rename_columns(["nr", "op", "system_time", "at", "city"])
    vocab = SetVocab(offset_column="nr", event_time_column="at")
    assert codes(parquet(renamed), vocab=vocab, schema=None) == []
    assert codes(parquet(renamed), schema=None) == ["offsets-differ"]
    assert codes(parquet(renamed), vocab=vocab, schema=None, watermark=moment(1)) == ["watermark-differs"]


@pytest.mark.parametrize(
    ("offsets", "first_wrong"),
    [([0, 2, 1], "2"), ([1, 2, 3], "1"), ([0, 0, 0], "0"), ([-1, 0, 1], "-1"), ([0, 1, 3], "3")],
    ids=str,
)
def test_the_first_offset_that_is_wrong_is_told(offsets: list[int], first_wrong: str) -> None:
    data = parquet(records(0, CITIES, offset=pa.array(offsets, pa.int64())))
    (finding,) = checked(data, claims_of(data))
    assert (finding.code, finding.found) == ("offsets-differ", first_wrong)


def test_unsigned_and_narrow_offsets_are_compared_by_value() -> None:
    for kind in (pa.uint64(), pa.int32()):
        assert codes(parquet(records(0, CITIES, offset=pa.array([0, 1, 2], kind))), schema=None) == []


def test_offsets_beyond_what_a_column_can_hold_are_compared_too() -> None:
    data = parquet(TABLE)
    (finding,) = checked(data, claims_of(data, interval=OffsetInterval(2**64 - 3, 2**64 - 1)))
    assert (finding.code, finding.expected, finding.found) == ("offsets-differ", str(2**64 - 3), "0")


def test_offsets_that_are_no_numbers_are_a_finding() -> None:
    data = parquet(records(0, CITIES, offset=pa.array(["x", "y", "z"])))
    assert codes(data, schema=None) == ["records-unreadable"]


class TestWatermark:
    """A warning where the watermark of a root is not the highest event time so far."""

    @pytest.mark.parametrize(
        ("before", "now", "expected"),
        [
            (None, moment(2), []),
            (moment(1), moment(2), []),
            (moment(9), moment(9), []),
            (None, moment(9), ["watermark-differs"]),
            (None, None, ["watermark-differs"]),
            (moment(9), moment(10), ["watermark-differs"]),
        ],
        ids=["first", "grows", "stays", "ahead", "none", "set by hand"],
    )
    def test_of_a_root(self, before: Instant | None, now: Instant | None, expected: list[str]) -> None:
        data = parquet(TABLE)
        findings = checked(data, claims_of(data, watermark=now, watermark_before=before))
        assert [finding.code for finding in findings] == expected
        assert all(finding.severity is Severity.WARNING for finding in findings)

    def test_of_a_derivative_is_not_judged(self) -> None:
        data = parquet(TABLE)
        event = ExecuteTransform((), new_data=slice_of(data, THREE), new_watermark=moment(50))
        assert codes(data, event=event) == []

    @pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
    def test_dates_count_as_midnight(self, kind: pa.DataType) -> None:
        days = pa.array([date(2024, 1, 1), date(2024, 1, 3), None], kind)
        data = parquet(records(0, CITIES, event_time=days))
        fields = [DataField(each.name, DataTypeDate()) if each.name == "event_time" else each for each in _fields()]
        schema = SetDataSchema(schema=DataSchema(tuple(fields)))
        assert codes(data, schema=schema, watermark=Instant(2024, 3, 0)) == []

    def test_without_any_event_time_there_is_nothing_to_compare(self) -> None:
        stamp = pa.timestamp("ms", "UTC")
        assert codes(parquet(records(0, CITIES, event_time=pa.array([None] * 3, stamp))), watermark=None) == []
        assert codes(parquet(TABLE.drop_columns(["event_time"])), schema=None, watermark=None) == []

    def test_times_beyond_any_calendar_are_a_finding_and_no_crash(self) -> None:
        far = pa.array([2**62] * 3, pa.int64()).cast(pa.timestamp("ms", "UTC"))
        assert "records-unreadable" in codes(parquet(records(0, CITIES, event_time=far)))


def _fields() -> tuple[DataField, ...]:
    assert SCHEMA.schema is not None
    return SCHEMA.schema.fields


class TestHostileFiles:
    """Whatever the bytes are: a finding, and never a clean bill."""

    def test_a_type_that_has_no_logical_hash(self) -> None:
        table = records(0, CITIES, city=pa.array([[("k", 1)], [], []], pa.map_(pa.string(), pa.int32())))
        claims = claims_of(parquet(TABLE), schema=None)
        assert [finding.code for finding in checked(parquet(table), claims)] == ["records-unreadable"]

    def test_more_columns_than_anybody_needs(self) -> None:
        wide = pa.table({f"c{number}": pa.array([1], pa.int8()) for number in range(20_000)})
        (finding,) = checked(parquet(wide), claims_of(parquet(TABLE)))
        assert finding.code == "records-unreadable"
        assert finding.severity is Severity.UNCHECKED

    def test_a_deeply_nested_column(self) -> None:
        nested = pa.array([1], pa.int8())
        for _ in range(300):
            nested = pa.StructArray.from_arrays([nested], ["x"])
        (finding,) = checked(parquet(pa.table({"x": nested})), claims_of(parquet(TABLE)))
        assert finding.code == "records-unreadable"

    @given(st.data())
    def test_any_byte_changed(self, data: st.DataObject) -> None:
        sound = parquet(TABLE)
        position = data.draw(st.integers(0, len(sound) - 1))
        changed = sound[:position] + bytes([sound[position] ^ data.draw(st.integers(1, 255))]) + sound[position + 1 :]
        checked(changed, claims_of(sound))

    @given(st.integers(0, 1_000))
    def test_cut_off_anywhere(self, kept: int) -> None:
        sound = parquet(TABLE)
        (finding,) = checked(sound[: min(kept, len(sound) - 1)], claims_of(sound))
        assert finding.code == "records-unreadable"

    @given(st.binary(max_size=300))
    def test_any_bytes(self, data: bytes) -> None:
        for raw in (data, b"PAR1" + data + len(data).to_bytes(4, "little") + b"PAR1"):
            assert checked(raw, claims_of(parquet(TABLE)))


def test_another_algorithm_in_the_block_is_another_hash() -> None:
    data = parquet(TABLE)
    digest = slice_of(data, THREE).logical_hash.digest
    assert codes(data, slice={"logical_hash": Multihash(HashCodec.SHA3_256, digest)}) == ["records-differ"]


def test_an_early_time_is_earlier_than_1970() -> None:
    data = parquet(
        records(0, ["a"], event_time=pa.array([datetime(1950, 1, 1, tzinfo=UTC)], pa.timestamp("ms", "UTC")))
    )
    assert codes(data, interval=OffsetInterval(0, 0), watermark=Instant(1950, 1, 0)) == []
