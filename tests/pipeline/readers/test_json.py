"""Json, NdJson and the geographic kinds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from opendatafabric.errors import MalformedSource, UnsupportedOperation
from opendatafabric.metadata.sources import (
    ReadStep,
    ReadStepGeoJson,
    ReadStepJson,
    ReadStepNdGeoJson,
    ReadStepNdJson,
)
from pipeline.readers import read_records

POINT = {"type": "Point", "coordinates": [1.5, 2]}
FEATURE = {"type": "Feature", "properties": {"name": "a", "n": 1}, "geometry": POINT}
BARE = {"type": "Feature", "properties": None, "geometry": None}


def table(folder: Path, text: str | bytes, step: ReadStep) -> Any:
    """The table of a file with that text."""
    file = folder / "input.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_records(file, step)


def rows(folder: Path, text: str | bytes, step: ReadStep) -> list[dict[str, Any]]:
    """The rows of it."""
    return table(folder, text, step).to_pylist()


class TestNdJson:
    def test_members_become_columns_missing_ones_null_and_others_nothing(self, tmp_path: Path) -> None:
        step = ReadStepNdJson(schema=("n BIGINT", "a STRING"))
        assert rows(tmp_path, '{"a": "x", "n": 1, "z": 0}\n\n{"a": null}\n', step) == [
            {"n": 1, "a": "x"},
            {"n": None, "a": None},
        ]

    def test_without_schema_types_come_from_the_first_rows(self, tmp_path: Path) -> None:
        text = '{"i": 1, "f": 1, "b": true, "s": "2020-01-01", "l": [1], "o": {"x": 1}, "m": 1}\n{"f": 1.5, "m": "x"}\n'
        with pytest.raises(MalformedSource, match="line 1: column 'm'"):
            table(tmp_path, text, ReadStepNdJson())
        found = table(tmp_path, text.replace('"m": 1', '"m": "1"'), ReadStepNdJson())
        nested = [pa.list_(pa.int64()), pa.struct([("x", pa.int64())])]
        assert found.schema.types == [pa.int64(), pa.float64(), pa.bool_(), pa.string(), *nested, pa.string()]

    def test_times_are_read_from_text(self, tmp_path: Path) -> None:
        step = ReadStepNdJson(schema=("t TIMESTAMP",))
        assert rows(tmp_path, '{"t": "2020-01-01T00:00:00Z"}\n', step) == [{"t": datetime(2020, 1, 1, tzinfo=UTC)}]

    def test_an_empty_file_has_no_rows_or_is_nothing(self, tmp_path: Path) -> None:
        assert table(tmp_path, "", ReadStepNdJson(schema=("a INT",))).num_rows == 0
        assert table(tmp_path, "\n", ReadStepNdJson()) is None

    def test_a_line_longer_than_a_block_is_read(self, tmp_path: Path) -> None:
        text = json.dumps({"a": "x" * 20_000_000}) + "\n"
        assert len(rows(tmp_path, text, ReadStepNdJson(schema=("a STRING",)))[0]["a"]) == 20_000_000

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b'{"n": 1}\n{"n": }\n', "line 2, column 7"),
            (b'{"n": 1}\n{"n": "x"}\n', "line 2: column 'n' does not fit its type"),
            (b'{"n": 1}\n[1]\n', "line 2 is no JSON object"),
            (b'{"n": 1}\n{"a": "\xff"}\n', "line 2, byte 8: the text is not UTF-8"),
        ],
    )
    def test_the_line_that_is_wrong_is_named(self, tmp_path: Path, text: bytes, message: str) -> None:
        with pytest.raises(MalformedSource, match=message):
            table(tmp_path, text, ReadStepNdJson(schema=("n BIGINT", "a STRING")))

    def test_numbers_in_quotes_are_numbers_where_the_column_is_one(self, tmp_path: Path) -> None:
        step = ReadStepNdJson(schema=("n BIGINT", "x DOUBLE", "s STRING", "all INT[]"))
        text = '{"n": 1, "x": 1.5, "s": "7", "all": [1]}\n\n{"n": "-2", "x": "1e2", "s": "8", "all": ["3", null]}\n'
        assert rows(tmp_path, text, step) == [
            {"n": 1, "x": 1.5, "s": "7", "all": [1]},
            {"n": -2, "x": 100.0, "s": "8", "all": [3, None]},
        ]

    def test_quotes_that_begin_far_inside_the_file_change_nothing_before(self, tmp_path: Path) -> None:
        lines = [json.dumps({"n": number, "pad": "x" * 1000}) for number in range(9_000)]
        lines.append('{"n": "9000"}')
        found = table(tmp_path, "\n".join(lines), ReadStepNdJson(schema=("n INT",)))
        assert found.column("n").to_pylist() == list(range(9_001))

    @pytest.mark.parametrize("text", ["seven", "1.5", "", " 7", "0x7", "1_000", "9" * 30])
    def test_text_that_is_no_such_number_is_named_with_its_line(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(MalformedSource, match="line 3: column 'n'"):
            rows(tmp_path, '{"n": "1"}\n\n' + json.dumps({"n": text}), ReadStepNdJson(schema=("n BIGINT",)))

    def test_other_encodings_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedOperation, match="encoding"):
            table(tmp_path, "{}", ReadStepNdJson(encoding="latin1"))


class TestJson:
    def test_the_array_may_lie_inside_the_document(self, tmp_path: Path) -> None:
        text = json.dumps({"a": {"b": [{"n": 1}, {"n": 2}]}})
        assert rows(tmp_path, text, ReadStepJson(sub_path="a.b")) == [{"n": 1}, {"n": 2}]

    def test_an_array_at_the_root_is_the_default(self, tmp_path: Path) -> None:
        assert rows(tmp_path, '[{"n": 1}]', ReadStepJson()) == [{"n": 1}]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"a": 1}', "no 'x' of the path 'x'"),
            ('{"x": {}}', "no array at 'x'"),
            ('{"x": [', "line 1"),
            ('{"x": [{"n": 1}, 5]}', "element 2 is no JSON object"),
        ],
    )
    def test_what_is_not_there_is_named(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(MalformedSource, match=message):
            table(tmp_path, text, ReadStepJson(sub_path="x", schema=("n BIGINT",)))


class TestGeoJson:
    def test_properties_are_columns_and_the_geometry_is_text(self, tmp_path: Path) -> None:
        text = json.dumps({"type": "FeatureCollection", "features": [FEATURE, BARE]})
        step = ReadStepGeoJson(schema=("name STRING", "n INT", "geometry STRING"))
        found = rows(tmp_path, text, step)
        assert json.loads(found[0].pop("geometry")) == POINT
        assert found == [{"name": "a", "n": 1}, {"name": None, "n": None, "geometry": None}]

    def test_a_feature_per_line_gives_the_same(self, tmp_path: Path) -> None:
        found = rows(tmp_path, json.dumps(FEATURE) + "\n", ReadStepNdGeoJson())
        assert json.loads(found[0]["geometry"]) == POINT

    def test_what_is_no_collection_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="no FeatureCollection"):
            table(tmp_path, json.dumps(FEATURE), ReadStepGeoJson())

    def test_a_line_that_is_no_feature_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="line 2 is no GeoJSON Feature"):
            table(tmp_path, json.dumps(FEATURE) + "\n{}\n", ReadStepNdGeoJson())
