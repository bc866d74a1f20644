"""Every option of every format: what it does, and which values are refused. A table, which has to name each option."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.errors import MalformedData, MalformedSource, OdfError, UnsupportedOperation
from opendatafabric.metadata import sources
from pipeline.readers import read_records
from tests.pipeline.readers.test_shapefile import POINT, dbf, shp, zipped

Csv, Json, NdJson = sources.ReadStepCsv, sources.ReadStepJson, sources.ReadStepNdJson
GeoJson, NdGeoJson = sources.ReadStepGeoJson, sources.ReadStepNdGeoJson
Shapefile, Parquet = sources.ReadStepEsriShapefile, sources.ReadStepParquet
Row = dict[str, Any]


@dataclass(frozen=True)
class Golden:
    """What ``step`` makes of ``raw``; ``option`` is the one that is shown."""

    option: str
    step: sources.ReadStep
    raw: bytes
    rows: list[Row]


@dataclass(frozen=True)
class Refused:
    """A value of ``option`` that is no option, or does not fit ``raw``."""

    option: str
    step: sources.ReadStep
    raw: bytes
    error: type[OdfError]
    message: str


FEATURE = {"type": "Feature", "properties": {"a": "x", "n": 1}, "geometry": None}
COLLECTION = json.dumps({"type": "FeatureCollection", "features": [FEATURE]}).encode()
LINE = json.dumps(FEATURE).encode()
AN = ("a STRING", "n INT")
X1 = [{"a": "x", "n": 1}]
TEXT1 = [{"a": "x", "n": "1"}]


def parquet() -> bytes:
    """One row of a text and a number of 64 bits."""
    sink = BytesIO()
    pq.write_table(pa.table({"n": [1], "a": ["x"]}), sink)
    return sink.getvalue()


def shapes(folder: Path, *names: str) -> bytes:
    """An archive with one point for each name."""
    files = {f"{name}__{suffix}": raw for name in names for suffix, raw in (("shp", shp(POINT)), ("dbf", dbf(name)))}
    return zipped(folder, **files).read_bytes()


GOLDEN = [
    Golden("schema", Csv(schema=AN), b"x,1\n", X1),
    Golden("schema", Csv(schema=("a STRING, n INT",)), b"x,1", X1),
    Golden("schema", Csv(schema=('"a b" STRING NOT NULL',)), b"x\n", [{"a b": "x"}]),
    Golden("schema", Csv(), b"x,1\n", [{"column_1": "x", "column_2": "1"}]),
    Golden("separator", Csv(schema=AN, separator="\t"), b"x\t1\n", X1),
    Golden("separator", Csv(schema=AN, separator="|"), b"x|1\n", X1),
    Golden("encoding", Csv(schema=AN, encoding="utf8"), "é,1\n".encode(), [{"a": "é", "n": 1}]),
    Golden("encoding", Csv(schema=AN, encoding="UTF-8"), b"\xef\xbb\xbfx,1\n", X1),
    Golden("quote", Csv(schema=AN), b'"x",1\n', X1),
    Golden("quote", Csv(schema=AN, quote="'"), b"'x','1'\n", X1),
    Golden("quote", Csv(schema=AN), b'"a""b\nc, d",1\n', [{"a": 'a"b\nc, d', "n": 1}]),
    Golden("escape", Csv(schema=AN, escape="\\"), b'"a\\"b",1\n', [{"a": 'a"b', "n": 1}]),
    Golden("header", Csv(schema=AN, header=True), b"anything,at all\nx,1\n", X1),
    Golden("header", Csv(schema=AN, header=True), b"a,n\n", []),
    Golden("header", Csv(schema=AN, header=False), b"x,1\r\ny,2\r\n", [*X1, {"a": "y", "n": 2}]),
    Golden("header", Csv(header=True), b"a,n\nx,1\n", TEXT1),
    Golden("infer_schema", Csv(header=True, infer_schema=True), b"a,n\nx,1\n", X1),
    Golden("infer_schema", Csv(header=True, infer_schema=False), b"a,n\nx,1\n", TEXT1),
    Golden("infer_schema", Csv(schema=("a STRING", "n STRING"), infer_schema=True), b"x,1\n", TEXT1),
    Golden("null_value", Csv(schema=AN, null_value=""), b',\n"",1\n', [{"a": None, "n": None}, {"a": None, "n": 1}]),
    Golden("null_value", Csv(schema=("a STRING", "b STRING")), b"NULL,NA\n", [{"a": "NULL", "b": "NA"}]),
    Golden("date_format", Csv(schema=AN, date_format="rfc3339"), b"x,1\n", X1),
    Golden("timestamp_format", Csv(schema=AN, timestamp_format="rfc3339"), b"x,1\n", X1),
    Golden("schema", NdJson(schema=AN), b'{"n": 1, "a": "x", "more": {}}\n', X1),
    Golden("schema", NdJson(schema=("n INT", "b INT")), b'{"n": 1, "a": "x"}', [{"n": 1, "b": None}]),
    Golden("schema", NdJson(), b'{"a": "x"}\r\n\r\n{"n": 1}\r\n', [{"a": "x", "n": None}, {"a": None, "n": 1}]),
    Golden("encoding", NdJson(schema=AN, encoding="utf8"), '{"a": "é\\u00e9"}'.encode(), [{"a": "éé", "n": None}]),
    Golden("date_format", NdJson(schema=AN, date_format="rfc3339"), b'{"a": "x", "n": 1}', X1),
    Golden("timestamp_format", NdJson(schema=AN, timestamp_format="rfc3339"), b'{"a": "x", "n": 1}', X1),
    Golden("sub_path", Json(sub_path="r.items"), b'{"r": {"items": [{"a": "x", "n": 1}]}}', X1),
    Golden("sub_path", Json(), b'[{"a": "x",\n "n": 1}]', X1),
    Golden("sub_path", Json(schema=AN), b"[]", []),
    Golden("schema", Json(schema=("n INT",)), b'[{"a": "x", "n": 1}]', [{"n": 1}]),
    Golden("encoding", Json(schema=AN, encoding="utf-8"), b'[{"a": "x", "n": 1}]', X1),
    Golden("date_format", Json(schema=AN, date_format="rfc3339"), b'[{"a": "x", "n": 1}]', X1),
    Golden("timestamp_format", Json(schema=AN, timestamp_format="rfc3339"), b'[{"a": "x", "n": 1}]', X1),
    Golden("schema", GeoJson(), COLLECTION, [{**X1[0], "geometry": None}]),
    Golden("schema", GeoJson(schema=AN), COLLECTION, X1),
    Golden("schema", NdGeoJson(), LINE + b"\n\n" + LINE, [{**X1[0], "geometry": None}] * 2),
    Golden("schema", NdGeoJson(schema=("n BIGINT", "geometry STRING")), LINE, [{"n": 1, "geometry": None}]),
    Golden("schema", Parquet(), parquet(), [{"n": 1, "a": "x"}]),
    Golden("schema", Parquet(schema=AN), parquet(), X1),
]
REFUSED = [
    Refused("schema", Csv(schema=("a WHATEVER",)), b"x\n", MalformedData, "expected a type"),
    Refused("schema", Csv(schema=("a INT NOT NULL",)), b'1\n""\n', MalformedSource, "line 2: column 'a' is empty"),
    Refused("schema", Csv(schema=AN), b"x,1\ny\n", MalformedSource, "line 2 has another number of columns"),
    Refused("schema", Csv(schema=AN), b"x,1\ny,2,3\n", MalformedSource, "line 2 has another number of columns"),
    Refused("header", Csv(header=True), b"a,a\n1,2\n", MalformedSource, "'a' is there twice"),
    Refused("infer_schema", Csv(infer_schema=True), b"1\n" * 1_000 + b"x\n", MalformedSource, "line 1001: column"),
    Refused("encoding", Csv(schema=AN), b"x,1\n\xe9,2\n", MalformedSource, "line 2, byte 1: the text is not UTF-8"),
    Refused("encoding", Csv(schema=AN), "x,1\n".encode("utf-16"), MalformedSource, "not UTF-8"),
    Refused("encoding", NdJson(schema=AN), b'{"a": "\xe9"}', MalformedSource, "line 1, byte 8: the text is not UTF-8"),
    Refused("schema", NdJson(schema=("n INT NOT NULL",)), b'{"n": 1}\n\n{}', MalformedSource, "line 3: column 'n'"),
    Refused("sub_path", Json(sub_path="a.z"), b'{"a": {}}', MalformedSource, "no 'z' of the path"),
    Refused("sub_path", Json(sub_path="a"), b'{"a": 1}', MalformedSource, "no array at 'a'"),
    Refused("schema", Json(schema=AN), b'[{"n": 1}, {"n": "x"}]', MalformedSource, "element 2: column 'n'"),
    Refused("schema", GeoJson(schema=("a INT",)), COLLECTION, MalformedSource, "feature 1: column 'a'"),
    Refused("schema", NdGeoJson(schema=("a INT",)), b"\n" + LINE, MalformedSource, "line 2: column 'a'"),
    Refused("schema", Parquet(schema=("z INT",)), parquet(), MalformedSource, "'z' is not in the file"),
    Refused("schema", Parquet(schema=("a INT",)), parquet(), MalformedSource, "column 'a' does not fit"),
]
ONE_VALUE = [
    (kind, option, value)
    for kind in (Csv, Json, NdJson)
    for option, value in (("encoding", "latin1"), ("date_format", "%d.%m.%Y"), ("timestamp_format", "unix"))
]


def read(folder: Path, step: sources.ReadStep, raw: bytes) -> list[Row]:
    """The rows of a file of those bytes."""
    file = folder / "source"
    file.write_bytes(raw)
    found = read_records(file, step)
    assert found is not None
    return found.to_pylist()


def _name(case: Golden | Refused) -> str:
    return f"{type(case.step).__name__.removeprefix('ReadStep')}-{case.option}"


@pytest.mark.parametrize("case", GOLDEN, ids=_name)
def test_an_option_does_what_the_table_says(tmp_path: Path, case: Golden) -> None:
    assert read(tmp_path, case.step, case.raw) == case.rows


@pytest.mark.parametrize("case", REFUSED, ids=_name)
def test_what_does_not_fit_is_refused_with_its_place(tmp_path: Path, case: Refused) -> None:
    with pytest.raises(case.error, match=case.message):
        read(tmp_path, case.step, case.raw)


@pytest.mark.parametrize(("kind", "option", "value"), ONE_VALUE)
def test_options_of_one_value_refuse_all_others(tmp_path: Path, kind: Any, option: str, value: str) -> None:
    with pytest.raises(UnsupportedOperation, match=value):
        read(tmp_path, kind(schema=AN, **{option: value}), b"x,1\n")


def test_the_sub_path_of_a_shapefile_chooses_and_its_schema_casts(tmp_path: Path) -> None:
    raw = shapes(tmp_path, "one", "two")
    step = Shapefile(sub_path="two.*", schema=("NAME STRING", "N SMALLINT"))
    assert read(tmp_path, step, raw) == [{"NAME": "two", "N": 7}]
    with pytest.raises(MalformedSource, match="record 1: column 'NAME'"):
        read(tmp_path, Shapefile(sub_path="two.*", schema=("NAME INT",)), raw)


def _options(kind: Any) -> Iterator[tuple[Any, str]]:
    for field in fields(kind):
        yield kind, field.name


def test_no_option_is_missing_here() -> None:
    shown = {(type(case.step), case.option) for case in (*GOLDEN, *REFUSED)}
    shown |= {(Shapefile, "schema"), (Shapefile, "sub_path")}
    assert {option for kind in get_args(sources.ReadStep) for option in _options(kind)} == shown
