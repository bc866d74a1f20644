"""Which columns a source may have, and how its times become those of a dataset."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from opendatafabric.data.slice_format import TIMESTAMP, system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import IncompatibleSchema
from pipeline.prepared import prepare

VOCABULARY = DatasetVocabulary()
IN_FORCE = pa.schema([*system_fields(), ("a", pa.string()), ("s", pa.struct([("x", pa.int32())]))])


def prepared(in_force: pa.Schema | None = None, *, takes_op: bool = False, **columns: pa.Array) -> pa.Table:
    """The records of these columns, prepared."""
    return prepare(pa.table(columns), VOCABULARY, takes_op=takes_op, in_force=in_force)


@pytest.mark.parametrize("name", ["offset", "system_time", "op"])
def test_columns_of_the_system_are_refused(name: str) -> None:
    with pytest.raises(IncompatibleSchema, match=f"'{name}'"):
        prepared(**{name: pa.array([1])})


def test_an_operation_is_taken_where_the_strategy_wants_one() -> None:
    assert prepared(op=pa.array([1]), takes_op=True).column_names == ["op", "event_time"]


def test_times_of_the_top_level_become_milliseconds_in_utc() -> None:
    nanoseconds = pa.array([1_999_999], pa.timestamp("ns"))
    found = prepared(event_time=nanoseconds, t=pa.array([0], pa.timestamp("s", "Europe/Kyiv")))
    assert found.schema.types == [TIMESTAMP, TIMESTAMP]
    assert found["event_time"][0].as_py() == datetime(1970, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC)


def test_a_missing_event_time_is_added_in_the_type_of_the_dataset() -> None:
    dates = pa.schema([*system_fields()[:3], pa.field("event_time", pa.date32()), ("a", pa.string())])
    assert prepared(dates, a=pa.array(["x"])).schema.field("event_time").type == pa.date32()


def test_an_event_time_that_is_no_time_is_refused() -> None:
    with pytest.raises(IncompatibleSchema, match="no time"):
        prepared(event_time=pa.array([1]))


STRUCT = pa.array([{"x": 1}], pa.struct([("x", pa.int32())]))


def test_layouts_of_text_are_one_type() -> None:
    assert len(prepared(IN_FORCE, a=pa.array(["x"], pa.string_view()), s=STRUCT)) == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": pa.array(["x"])}, "other columns"),
        ({"s": STRUCT, "a": pa.array(["x"])}, "other columns"),
        ({"a": pa.array([1]), "s": STRUCT}, "column 'a' has another type"),
        ({"a": pa.array(["x"]), "s": pa.array([{"x": 1}])}, "column 's' has another type"),
    ],
)
def test_columns_that_are_not_those_of_the_dataset_are_refused(columns: dict[str, pa.Array], message: str) -> None:
    with pytest.raises(IncompatibleSchema, match=message):
        prepared(IN_FORCE, **columns)
