"""Csv with every option, and what is wrong with a file in the words of people."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from opendatafabric.errors import MalformedSource, UnsupportedOperation
from opendatafabric.metadata.sources import ReadStepCsv
from pipeline.readers import read_records


def read(folder: Path, text: str | bytes, **options: Any) -> list[dict[str, Any]]:
    """The rows of a file with that text."""
    return table(folder, text, **options).to_pylist()


def table(folder: Path, text: str | bytes, **options: Any) -> Any:
    """The table of a file with that text."""
    file = folder / "input.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_records(file, ReadStepCsv(**options))


SCHEMA = ("a STRING", "n BIGINT")


class TestOptions:
    def test_columns_go_by_position_whatever_the_header_calls_them(self, tmp_path: Path) -> None:
        assert read(tmp_path, "x,y\nfoo,1\n", schema=SCHEMA, header=True) == [{"a": "foo", "n": 1}]

    def test_without_header_the_first_line_is_a_record(self, tmp_path: Path) -> None:
        assert read(tmp_path, "foo,1\nbar,2\n", schema=SCHEMA) == [{"a": "foo", "n": 1}, {"a": "bar", "n": 2}]

    def test_separator_and_quote_can_be_chosen(self, tmp_path: Path) -> None:
        found = read(tmp_path, "'a;b';1\n'c''d';2\n", schema=SCHEMA, separator=";", quote="'")
        assert [row["a"] for row in found] == ["a;b", "c'd"]

    def test_there_is_no_escape_unless_it_is_chosen(self, tmp_path: Path) -> None:
        assert read(tmp_path, "a\\b,1\n", schema=SCHEMA)[0]["a"] == "a\\b"
        assert read(tmp_path, "a\\,b,1\n", schema=SCHEMA, escape="\\")[0]["a"] == "a,b"

    def test_a_quoted_field_may_go_over_lines(self, tmp_path: Path) -> None:
        assert read(tmp_path, 'a,n\n"one\ntwo",1\n', schema=SCHEMA, header=True)[0]["a"] == "one\ntwo"

    def test_empty_fields_are_null_quoted_ones_too(self, tmp_path: Path) -> None:
        assert read(tmp_path, ',\n"",1\n', schema=SCHEMA) == [{"a": None, "n": None}, {"a": None, "n": 1}]

    def test_without_schema_all_is_text_by_the_names_of_the_header(self, tmp_path: Path) -> None:
        assert read(tmp_path, "a,b\n1,x\n", header=True) == [{"a": "1", "b": "x"}]

    def test_without_schema_and_header_columns_are_numbered(self, tmp_path: Path) -> None:
        assert read(tmp_path, "1,x\n") == [{"column_1": "1", "column_2": "x"}]

    def test_types_can_be_inferred(self, tmp_path: Path) -> None:
        text = "i,f,b,d,t,s\n1,1,true,2020-01-01,2020-01-01T00:00:00Z,x\n2,2.5,FALSE,2020-01-02,2020-01-02 00:00:00,1\n"
        found = table(tmp_path, text, header=True, infer_schema=True)
        types = [pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("ns", "UTC"), pa.string()]
        assert found.schema.types == types

    @pytest.mark.parametrize("option", ["encoding", "null_value", "date_format", "timestamp_format"])
    def test_an_option_with_one_legal_value_refuses_others(self, tmp_path: Path, option: str) -> None:
        with pytest.raises(UnsupportedOperation, match="is not supported"):
            read(tmp_path, "a,1\n", schema=SCHEMA, **{option: "windows-1252"})

    @pytest.mark.parametrize("option", ["separator", "quote", "escape"])
    def test_dialect_signs_are_one_byte(self, tmp_path: Path, option: str) -> None:
        with pytest.raises(UnsupportedOperation, match="one byte"):
            read(tmp_path, "a,1\n", schema=SCHEMA, **{option: "||"})


class TestValues:
    def test_times_with_and_without_zone_are_in_utc(self, tmp_path: Path) -> None:
        texts = ["2020-01-01T02:00:00+02:00", "2020-01-01 00:00:00", "2020-01-01", "2020-01-01t00:00:00z"]
        found = read(tmp_path, "\n".join(texts) + "\n", schema=("t TIMESTAMP(3)",))
        assert {row["t"] for row in found} == {datetime(2020, 1, 1, tzinfo=UTC)}

    def test_other_types_are_read(self, tmp_path: Path) -> None:
        schema = ("d DATE", "m DECIMAL(6,2)", "b BOOLEAN", "u BIGINT UNSIGNED")
        found = read(tmp_path, "2020-02-29,-12.5,True,18446744073709551615\n", schema=schema)
        assert found == [{"d": date(2020, 2, 29), "m": Decimal("-12.50"), "b": True, "u": 2**64 - 1}]


class TestNothing:
    def test_an_empty_file_with_a_schema_has_no_rows(self, tmp_path: Path) -> None:
        assert table(tmp_path, "", schema=SCHEMA).num_rows == 0

    def test_an_empty_file_without_a_schema_is_nothing(self, tmp_path: Path) -> None:
        assert table(tmp_path, "", header=True) is None

    def test_a_header_alone_has_no_rows(self, tmp_path: Path) -> None:
        assert table(tmp_path, "a,n\n", schema=SCHEMA, header=True).num_rows == 0


class TestWrong:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a,n\nx,1\ny,two\n", "line 3: column 'n' does not fit its type"),
            ("a,n\nx,1\ny\n", "line 3 has another number of columns"),
            ('a,n\n"x\ny",1\nz,1,2\n', "line 4 has another number of columns"),
            (b"a,n\nx,1\n\xff,2\n", "line 3, byte 1: the text is not UTF-8"),
            ('a,n\n"x,1\n', "no CSV"),
        ],
    )
    def test_the_line_is_named(self, tmp_path: Path, text: str | bytes, message: str) -> None:
        with pytest.raises(MalformedSource, match=message):
            read(tmp_path, text, schema=SCHEMA, header=True)

    def test_a_time_that_is_none_is_named_with_its_line(self, tmp_path: Path) -> None:
        text = "t\n" + "2020-01-01\n" * 5 + "yesterday\n2020-01-01\n"
        with pytest.raises(MalformedSource, match="line 7: column 't' has no readable time") as caught:
            read(tmp_path, text, schema=("t TIMESTAMP",), header=True)
        assert caught.value.found == "yesterday"

    def test_a_null_where_none_may_be_is_named_with_its_line(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="line 2: column 'n' is empty"):
            read(tmp_path, "x,1\ny,\n", schema=("a STRING", "n INT NOT NULL"))

    def test_a_number_beyond_its_type_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="line 1"):
            read(tmp_path, "300\n", schema=("a TINYINT",))

    def test_a_header_with_a_name_twice_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="'a' is there twice"):
            read(tmp_path, "a,a\n1,2\n", header=True)
