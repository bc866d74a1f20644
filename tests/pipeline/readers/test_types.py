"""Every type that a schema may name, read from every format: one value, null, and a value that does not fit."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata import sources
from pipeline.readers import read_records


@dataclass(frozen=True)
class Case:
    """``text`` and ``member`` are the value in CSV and in JSON; ``wrong`` does not fit the type in either."""

    ddl: str
    arrow: pa.DataType
    value: Any
    text: str
    member: Any
    wrong: str | None = "?"


NOON = datetime(2024, 2, 29, 12, 0, 0, tzinfo=UTC)
ZULU = "2024-02-29T12:00:00Z"
SCALARS = [
    Case("BOOLEAN", pa.bool_(), True, "true", True),
    Case("BOOL", pa.bool_(), False, "FALSE", False),
    Case("TINYINT", pa.int8(), -128, "-128", -128, "128"),
    Case("SMALLINT", pa.int16(), -32768, "-32768", -32768, "32768"),
    Case("INT2", pa.int16(), 7, "7", 7),
    Case("INT", pa.int32(), -(2**31), "-2147483648", -(2**31), "2147483648"),
    Case("INTEGER", pa.int32(), 7, "7", 7, "1.5"),
    Case("INT4", pa.int32(), 7, "7", 7),
    Case("BIGINT", pa.int64(), -(2**63), "-9223372036854775808", -(2**63), "9223372036854775808"),
    Case("INT8", pa.int64(), 7, "7", 7),
    Case("TINYINT UNSIGNED", pa.uint8(), 255, "255", 255, "256"),
    Case("SMALLINT UNSIGNED", pa.uint16(), 65535, "65535", 65535, "65536"),
    Case("INT UNSIGNED", pa.uint32(), 2**32 - 1, "4294967295", 2**32 - 1, "-1"),
    Case("BIGINT UNSIGNED", pa.uint64(), 2**64 - 1, "18446744073709551615", 2**64 - 1, "-1"),
    Case("FLOAT", pa.float32(), 0.5, "0.5", 0.5),
    Case("REAL", pa.float32(), -2.0, "-2", -2),
    Case("DOUBLE", pa.float64(), 1e300, "1e300", 1e300),
    Case("DOUBLE PRECISION", pa.float64(), 0.1, "0.1", 0.1),
    Case("FLOAT8", pa.float64(), 3.0, "3", 3),
    Case("STRING", pa.string(), "é 中", "é 中", "é 中", None),
    Case("TEXT", pa.string(), "a", "a", "a", None),
    Case("VARCHAR(3)", pa.string(), "abcd", "abcd", "abcd", None),
    Case("CHAR", pa.string(), "a", "a", "a", None),
    Case("DECIMAL(6, 2)", pa.decimal128(6, 2), Decimal("-1234.50"), "-1234.5", "-1234.5", "12345.678"),
    Case("DECIMAL(38, 10)", pa.decimal128(38, 10), Decimal("0.0000000001"), "0.0000000001", "0.0000000001"),
    Case("NUMERIC(5)", pa.decimal128(5, 0), Decimal(12345), "12345", "12345", "123456"),
    Case("DATE", pa.date32(), date(2024, 2, 29), "2024-02-29", "2024-02-29", "2023-02-29"),
    Case("TIME", pa.time64("ns"), time(23, 59, 59), "23:59:59", "23:59:59", "24:00:01"),
    Case("TIMESTAMP(0)", pa.timestamp("s", "UTC"), NOON, ZULU, ZULU, "noon"),
    Case("TIMESTAMP(3)", pa.timestamp("ms", "UTC"), NOON, ZULU, ZULU, "2024-02-30T00:00:00Z"),
    Case("TIMESTAMP(6)", pa.timestamp("us", "UTC"), NOON, "2024-02-29 12:00:00", "2024-02-29 12:00:00", "12:00"),
    Case("TIMESTAMP", pa.timestamp("ns", "UTC"), NOON, "2024-02-29T13:00:00+01:00", "2024-02-29T13:00:00+01:00"),
    Case("TIMESTAMPTZ", pa.timestamp("ns", "UTC"), datetime(2024, 2, 29, tzinfo=UTC), "2024-02-29", "2024-02-29"),
]
NESTED = [
    Case("INT[]", pa.list_(pa.int32()), [1, None, 3], "", [1, None, 3]),
    Case("ARRAY<STRING>", pa.list_(pa.string()), ["a", ""], "", ["a", ""]),
    Case("BIGINT[][]", pa.list_(pa.list_(pa.int64())), [[1], []], "", [[1], []]),
    Case(
        "STRUCT<x INT, y STRUCT<z BOOLEAN>>",
        pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.bool_())]))]),
        {"x": 1, "y": {"z": None}},
        "",
        {"x": 1, "y": {}},
    ),
    Case("ARRAY<STRUCT<x DOUBLE>>", pa.list_(pa.struct([("x", pa.float64())])), [{"x": 0.5}], "", [{"x": 0.5}]),
]
Write = Callable[[Path, tuple[str, ...], list[Any]], pa.Table | None]


def _as_lines(values: list[Any]) -> str:
    return "".join(json.dumps({"v": value, "n": number}) + "\n" for number, value in enumerate(values))


def _feature(value: Any, number: int) -> dict[str, Any]:
    return {"type": "Feature", "properties": {"v": value, "n": number}, "geometry": None}


def from_csv(folder: Path, schema: tuple[str, ...], values: list[Any]) -> pa.Table | None:
    """Fields in quotes are read like others."""
    fields = ["" if value is None else f'"{value}"' for value in values]
    file = folder / "input"
    file.write_text("".join(f"{field},{number}\n" for number, field in enumerate(fields)))
    return read_records(file, sources.ReadStepCsv(schema=schema))


def from_ndjson(folder: Path, schema: tuple[str, ...], values: list[Any]) -> pa.Table | None:
    """An object a line."""
    file = folder / "input"
    file.write_text(_as_lines(values))
    return read_records(file, sources.ReadStepNdJson(schema=schema))


def from_json(folder: Path, schema: tuple[str, ...], values: list[Any]) -> pa.Table | None:
    """An array of objects."""
    file = folder / "input"
    file.write_text(f"[{','.join(_as_lines(values).splitlines())}]")
    return read_records(file, sources.ReadStepJson(schema=schema))


def from_geojson(folder: Path, schema: tuple[str, ...], values: list[Any]) -> pa.Table | None:
    """A collection of features."""
    file = folder / "input"
    features = [_feature(value, number) for number, value in enumerate(values)]
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return read_records(file, sources.ReadStepGeoJson(schema=schema))


def from_nd_geojson(folder: Path, schema: tuple[str, ...], values: list[Any]) -> pa.Table | None:
    """A feature a line."""
    file = folder / "input"
    file.write_text("".join(json.dumps(_feature(value, number)) + "\n" for number, value in enumerate(values)))
    return read_records(file, sources.ReadStepNdGeoJson(schema=schema))


JSON_FORMATS: list[Write] = [from_ndjson, from_json, from_geojson, from_nd_geojson]


def schema_of(case: Case) -> tuple[str, ...]:
    """The column of the case and the number of the row."""
    return (f"v {case.ddl}", "n INT")


def check(found: pa.Table | None, case: Case, values: list[Any]) -> None:
    """That the column has the type and the values."""
    assert found is not None
    assert found.schema.field("v").type == case.arrow
    assert found.column("v").to_pylist() == values


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case.ddl)
class TestScalars:
    def test_csv_reads_the_value_and_null(self, tmp_path: Path, case: Case) -> None:
        check(from_csv(tmp_path, schema_of(case), [case.text, None]), case, [case.value, None])

    @pytest.mark.parametrize("read", JSON_FORMATS, ids=lambda read: read.__name__)
    def test_json_reads_the_value_and_null(self, tmp_path: Path, case: Case, read: Write) -> None:
        check(read(tmp_path, schema_of(case), [case.member, None]), case, [case.value, None])

    def test_parquet_of_the_type_is_read_as_it_is(self, tmp_path: Path, case: Case) -> None:
        written = pa.table({"v": pa.array([case.value, None], case.arrow)})
        pq.write_table(written, tmp_path / "input")
        check(
            read_records(tmp_path / "input", sources.ReadStepParquet(schema=(f"v {case.ddl}",))),
            case,
            [case.value, None],
        )

    def test_a_value_that_does_not_fit_is_named_with_its_line_and_column(self, tmp_path: Path, case: Case) -> None:
        if case.wrong is None:
            return
        for read in (from_csv, from_ndjson, from_nd_geojson):
            with pytest.raises(MalformedSource, match=r"^line 2: column 'v' "):
                read(tmp_path, schema_of(case), [None, case.wrong])


@pytest.mark.parametrize("case", NESTED, ids=lambda case: case.ddl)
class TestNested:
    @pytest.mark.parametrize("read", JSON_FORMATS, ids=lambda read: read.__name__)
    def test_json_reads_it(self, tmp_path: Path, case: Case, read: Write) -> None:
        check(read(tmp_path, schema_of(case), [case.member, None]), case, [case.value, None])

    def test_a_member_of_another_kind_is_named(self, tmp_path: Path, case: Case) -> None:
        with pytest.raises(MalformedSource, match="line 2: column 'v' does not fit its type"):
            from_ndjson(tmp_path, schema_of(case), [None, "text"])

    def test_csv_has_no_such_values(self, tmp_path: Path, case: Case) -> None:
        with pytest.raises(MalformedSource):
            from_csv(tmp_path, schema_of(case), ["[1]"])


class TestBytes:
    def test_in_csv_and_json_they_are_the_text_itself(self, tmp_path: Path) -> None:
        case = Case("BYTEA", pa.binary(), b"abc", "abc", "abc")
        check(from_csv(tmp_path, schema_of(case), ["abc", None]), case, [b"abc", None])
        check(from_ndjson(tmp_path, schema_of(case), ["abc", None]), case, [b"abc", None])

    def test_in_parquet_they_are_any_bytes(self, tmp_path: Path) -> None:
        raw = base64.b64decode("AP8=")
        pq.write_table(pa.table({"v": pa.array([raw])}), tmp_path / "input")
        found = read_records(tmp_path / "input", sources.ReadStepParquet(schema=("v BYTEA",)))
        assert found is not None
        assert found.to_pylist() == [{"v": raw}]
