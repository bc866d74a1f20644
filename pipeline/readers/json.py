"""Json, NdJson and their geographic kinds: objects become records, by the names of their members.

Members that no column names are passed over, missing ones are null. Of a GeoJSON feature the properties become columns,
and ``geometry`` the JSON text of its geometry. Documents are turned into lines first; Arrow reads lines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa
from pyarrow import json as arrow_json

from opendatafabric.errors import LimitExceeded, MalformedSource
from opendatafabric.limits import INFERENCE_ROWS, JSON_DOCUMENT_BYTES_MAX
from opendatafabric.metadata.sources import ReadStepGeoJson, ReadStepJson, ReadStepNdGeoJson, ReadStepNdJson
from pipeline.readers.declared import RowPlace, check_options, check_required, declared_schema
from pipeline.readers.infer_json import infer_schema
from pipeline.readers.text_lines import check_utf8
from pipeline.readers.text_values import read_times

_BLOCK_BYTES: Final = 16 * 1024 * 1024
_BLOCK_BYTES_MAX: Final = 2**31 - 1
_BATCH_LINES: Final = 4_096


def read_ndjson(path: Path, step: ReadStepNdJson) -> pa.Table | None:
    """One object a line; errors as ``read_records``."""
    check_options(encoding=step.encoding, dateFormat=step.date_format, timestampFormat=step.timestamp_format)
    return _read_lines(path, declared_schema(step.schema), _line_of(path))


def read_json(path: Path, step: ReadStepJson) -> pa.Table | None:
    """An array of objects, at ``subPath`` inside the document; errors as ``read_records``."""
    check_options(encoding=step.encoding, dateFormat=step.date_format, timestampFormat=step.timestamp_format)
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return None if schema is None else schema.empty_table()
    array = _load(path)
    for name in step.sub_path.split(".") if step.sub_path else ():
        if not isinstance(array, dict) or name not in array:
            raise MalformedSource(f"there is no '{name}' of the path '{step.sub_path}' in the document")
        array = array[name]
    if not isinstance(array, list):
        raise MalformedSource(f"there is no array at '{step.sub_path or '.'}'", found=type(array).__name__)
    return read_objects(array, schema, "element")


def read_geojson(path: Path, step: ReadStepGeoJson) -> pa.Table | None:
    """A FeatureCollection; errors as ``read_records``."""
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return None if schema is None else schema.empty_table()
    document = _load(path)
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list) or document.get("type") != "FeatureCollection":
        raise MalformedSource("the document is no FeatureCollection")
    flat = [_flat(feature, f"feature {number}") for number, feature in enumerate(features, start=1)]
    return read_objects(flat, schema, "feature")


def read_nd_geojson(path: Path, step: ReadStepNdGeoJson) -> pa.Table | None:
    """A Feature a line; errors as ``read_records``."""
    schema = declared_schema(step.schema)
    flat = [_flat(_loads(line, number), f"line {number}") for number, line in _lines(path)]
    if not flat:
        return None if schema is None else schema.empty_table()
    return read_objects(flat, schema, "line")


def read_objects(objects: Iterable[Any], schema: pa.Schema | None, unit: str) -> pa.Table | None:
    """Objects of any origin as records; ``unit`` is what people call one of them."""
    with tempfile.NamedTemporaryFile(suffix=".ndjson") as file:
        for each in objects:
            file.write(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE))
        file.flush()
        return _read_lines(Path(file.name), schema, lambda row: f"{unit} {row + 1}")


def _read_lines(path: Path, schema: pa.Schema | None, place: RowPlace) -> pa.Table | None:
    if schema is None:
        schema = infer_schema(_loads(line, number) for number, line in islice(_lines(path), INFERENCE_ROWS))
    if next(_lines(path), None) is None or not len(schema):
        return schema.empty_table() if len(schema) else None
    records = _parsed(path, schema, place)
    for index, field in enumerate(schema):
        if pa.types.is_timestamp(field.type):
            times = read_times(field.name, records.column(index), field.type, place)
            records = records.set_column(index, field.name, times)
    return check_required(records, schema, place)


def _parsed(path: Path, schema: pa.Schema, place: RowPlace) -> pa.Table:
    text = pa.schema([field.with_type(_read_as(field.type)).with_nullable(True) for field in schema])
    try:
        try:
            return _arrow_read(path, text, _BLOCK_BYTES)
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
            return _arrow_read(path, text, min(path.stat().st_size + 1, _BLOCK_BYTES_MAX))
    except pa.ArrowException as error:
        raise _explained(path, text, error, place) from None


def _arrow_read(source: Path | pa.BufferReader, schema: pa.Schema, block_bytes: int) -> pa.Table:
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    records = arrow_json.read_json(source, arrow_json.ReadOptions(block_size=block_bytes), parse)
    records.validate(full=True)  # text is taken as it is, whether it is UTF-8 or not
    return records


def _explained(path: Path, schema: pa.Schema, error: Exception, place: RowPlace) -> MalformedSource:
    """The first line that is no object, or does not fit alone: searched in the first batch of lines that fails."""
    check_utf8(path)
    lines, row = _lines(path), 0
    while batch := list(islice(lines, _BATCH_LINES)):
        try:
            _arrow_read(pa.BufferReader(b"".join(line for _, line in batch)), schema, _BLOCK_BYTES_MAX)
        except pa.ArrowException:
            for index, (number, line) in enumerate(batch):
                _check_alone(_loads(line, number), schema, place(row + index))
        row += len(batch)
    return MalformedSource(f"the file is no JSON: {error}")


def _check_alone(value: Any, schema: pa.Schema, place: str) -> None:
    if not isinstance(value, dict):
        raise MalformedSource(f"{place} is no JSON object", found=type(value).__name__)
    for field in schema:
        member = orjson.dumps({field.name: value.get(field.name)})
        try:
            _arrow_read(pa.BufferReader(member), pa.schema([field]), len(member) + 1)
        except pa.ArrowException:
            found = str(value.get(field.name))[:100]
            raise MalformedSource(
                f"{place}: column '{field.name}' does not fit its type", expected=field.type, found=found
            ) from None


def _read_as(data_type: Any) -> pa.DataType:
    """Times are read as text first; times inside structs and lists are left to Arrow."""
    return pa.string() if pa.types.is_timestamp(data_type) else data_type


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of the lines that are not blank."""
    with path.open("rb") as file:
        yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())


def _line_of(path: Path) -> RowPlace:
    def place(row: int) -> str:
        number = next((number for number, _ in islice(_lines(path), row, None)), row + 1)
        return f"line {number}"

    return place


def _loads(line: bytes, number: int) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise MalformedSource(f"line {number}, column {error.colno}: this is no JSON: {error.msg}") from None


def _load(path: Path) -> Any:
    size = path.stat().st_size
    if size > JSON_DOCUMENT_BYTES_MAX:
        raise LimitExceeded(
            "the JSON document is too large to be read whole",
            expected=f"at most {JSON_DOCUMENT_BYTES_MAX} bytes",
            found=size,
            hint="one object a line (NdJson) has no such limit",
        )
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise MalformedSource(f"line {error.lineno}, column {error.colno}: this is no JSON: {error.msg}") from None


def _flat(feature: Any, place: str) -> dict[str, Any]:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise MalformedSource(f"{place} is no GeoJSON Feature")
    geometry = feature.get("geometry")
    text = None if geometry is None else orjson.dumps(geometry).decode()
    return {**(feature.get("properties") or {}), "geometry": text}
