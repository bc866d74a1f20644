"""Types in words."""

from __future__ import annotations

import pytest

from opendatafabric.data.type_words import type_words
from opendatafabric.metadata import data_schema as odf


@pytest.mark.parametrize(
    ("data_type", "words"),
    [
        (odf.DataTypeInt64(), "Int64"),
        (odf.DataTypeOption(odf.DataTypeString()), "String?"),
        (odf.DataTypeDecimal(10, 2), "Decimal(10, 2)"),
        (odf.DataTypeTimestamp(odf.TimeUnit.MILLISECOND, "UTC"), "Timestamp(ms, UTC)"),
        (odf.DataTypeTimestamp(odf.TimeUnit.NANOSECOND), "Timestamp(ns)"),
        (odf.DataTypeTime(odf.TimeUnit.SECOND), "Time(s)"),
        (odf.DataTypeDuration(odf.TimeUnit.MICROSECOND), "Duration(µs)"),
        (odf.DataTypeList(odf.DataTypeOption(odf.DataTypeInt8())), "List(Int8?)"),
        (odf.DataTypeMap(odf.DataTypeString(), odf.DataTypeBool()), "Map(String, Bool)"),
        (odf.DataTypeStruct((odf.DataField("a", odf.DataTypeDate()),)), "Struct(a: Date)"),
    ],
)
def test_a_type_is_told_with_what_is_inside(data_type: odf.DataType, words: str) -> None:
    assert type_words(data_type) == words
