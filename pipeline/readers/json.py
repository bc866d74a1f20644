"""Json, NdJson and their geographic kinds: objects become records, by the names of their members.

Members that no column names are passed over, missing ones are null. Of a GeoJSON feature the properties become columns,
and ``geometry`` the JSON text of its geometry. Documents are turned into lines first; Arrow reads lines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from opendatafabric.errors import LimitExceeded, MalformedSource
from opendatafabric.metadata.sources import ReadStepGeoJson, ReadStepJson, ReadStepNdGeoJson, ReadStepNdJson
from opendatafabric.source_limits import INFERENCE_ROWS, JSON_DOCUMENT_BYTES_MAX
from pipeline.readers.blocks import read_blocks
from pipeline.readers.declared import (
    RowPlace,
    check_options,
    check_required,
    declared_schema,
    does_not_fit,
    no_rows,
)
from pipeline.readers.infer_json import infer_schema
from pipeline.readers.quoted_numbers import has_numbers, unquoted
from pipeline.readers.text_lines import check_utf8
from pipeline.readers.text_values import with_times

_BATCH_LINES: Final = 4_096


def read_ndjson(path: Path, step: ReadStepNdJson) -> Iterator[pa.Table] | None:
    """One object a line; errors as ``read_pieces``."""
    check_options(encoding=step.encoding, dateFormat=step.date_format, timestampFormat=step.timestamp_format)
    return _read_lines(path, declared_schema(step.schema), _line_of(path))


def read_json(path: Path, step: ReadStepJson) -> Iterator[pa.Table] | None:
    """An array of objects, at ``subPath`` inside the document; errors as ``read_pieces``."""
    check_options(encoding=step.encoding, dateFormat=step.date_format, timestampFormat=step.timestamp_format)
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return no_rows(schema)
    array = _load(path)
    for name in step.sub_path.split(".") if step.sub_path else ():
        if not isinstance(array, dict) or name not in array:
            raise MalformedSource(f"there is no '{name}' of the path '{step.sub_path}' in the document")
        array = array[name]
    if not isinstance(array, list):
        raise MalformedSource(f"there is no array at '{step.sub_path or '.'}'", found=type(array).__name__)
    return read_objects(array, schema, lambda row: f"element {row + 1}")


def read_geojson(path: Path, step: ReadStepGeoJson) -> Iterator[pa.Table] | None:
    """A FeatureCollection; errors as ``read_pieces``."""
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return no_rows(schema)
    document = _load(path)
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list) or document.get("type") != "FeatureCollection":
        raise MalformedSource("the document is no FeatureCollection")
    flat = (_flat(feature, f"feature {number}") for number, feature in enumerate(features, start=1))
    return read_objects(flat, schema, lambda row: f"feature {row + 1}")


def read_nd_geojson(path: Path, step: ReadStepNdGeoJson) -> Iterator[pa.Table] | None:
    """A Feature a line; errors as ``read_pieces``."""
    schema = declared_schema(step.schema)
    flat = (_flat(_loads(line, number), f"line {number}") for number, line in _lines(path))
    return read_objects(flat, schema, _line_of(path))


def read_objects(objects: Iterable[Any], schema: pa.Schema | None, place: RowPlace) -> Iterator[pa.Table] | None:
    """Objects of any origin as records; ``place`` says where one of them stands."""
    file = _as_lines(objects)
    pieces = _read_lines(Path(file.name), schema, place)
    return None if pieces is None else _while_open(file, pieces)


def _as_lines(objects: Iterable[Any]) -> IO[bytes]:
    """A file that is gone when it is closed."""
    file = tempfile.NamedTemporaryFile(suffix=".ndjson")  # noqa: SIM115  (it lives as long as its pieces are read)
    for each in objects:
        file.write(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE))
    file.flush()
    return cast(IO[bytes], file)


def _while_open(file: IO[bytes], pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    with file:
        yield from pieces


def _read_lines(path: Path, schema: pa.Schema | None, place: RowPlace) -> Iterator[pa.Table] | None:
    if schema is None:
        schema = infer_schema(_loads(line, number) for number, line in islice(_lines(path), INFERENCE_ROWS))
    if next(_lines(path), None) is None or not len(schema):
        return no_rows(schema if len(schema) else None)
    return _pieces(path, schema, place, unquote=has_numbers(pa.struct(schema)))


def _pieces(path: Path, schema: pa.Schema, place: RowPlace, *, unquote: bool) -> Iterator[pa.Table]:
    """With ``unquote`` what Arrow refuses, and all behind it, is read once more with numbers taken out of quotes."""
    text, first_row = _as_text(schema), 0

    def place_of(row: int) -> str:
        return place(first_row + row)

    try:
        for batch in read_blocks(lambda block_bytes: _open(path, text, block_bytes)):
            batch.validate(full=True)  # text is taken as it is, whether it is UTF-8 or not
            records = _converted(pa.Table.from_batches([batch]), schema)
            yield check_required(with_times(records, schema, place_of), schema, place_of)
            first_row += len(batch)
    except pa.ArrowException as error:
        if not unquote:
            raise _explained(path, schema, error, place) from None
    else:
        return
    check_utf8(path)
    lines = islice(_lines(path), first_row, None)
    rest = _as_lines(unquoted(_loads(line, number), pa.struct(schema)) for number, line in lines)
    yield from _while_open(rest, _pieces(Path(rest.name), schema, place_of, unquote=False))


def _open(source: Path | pa.BufferReader, schema: pa.Schema, block_bytes: int) -> Any:
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return arrow_json.open_json(source, arrow_json.ReadOptions(block_size=block_bytes), parse)


def _converted(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """What Arrow reads as text alone, made what it is; top-level times are read elsewhere."""
    columns = [
        column if pa.types.is_timestamp(field.type) or column.type == field.type else _from_text(column, field.type)
        for column, field in zip(records.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=schema.names)


def _from_text(column: pa.ChunkedArray, data_type: Any) -> pa.ChunkedArray:
    """Arrow casts text to times of day by way of a day."""
    if pa.types.is_time(data_type):
        column = pc.binary_join_element_wise("1970-01-01T", column, "").cast(pa.timestamp("ns"))
    return column.cast(data_type)


def _check_lines(lines: list[bytes], schema: pa.Schema) -> None:
    raw = b"".join(lines)
    with _open(pa.BufferReader(raw), _as_text(schema), len(raw) + 1) as reader:
        for batch in reader:
            batch.validate(full=True)
            _converted(pa.Table.from_batches([batch]), schema)


def _explained(path: Path, schema: pa.Schema, error: Exception, place: RowPlace) -> MalformedSource:
    """The first line that is no object, or does not fit alone: searched in the first batch of lines that fails."""
    check_utf8(path)
    lines, row = _lines(path), 0
    while batch := list(islice(lines, _BATCH_LINES)):
        try:
            _check_lines([line for _, line in batch], schema)
        except pa.ArrowException:
            for index, (number, line) in enumerate(batch):
                _check_alone(_loads(line, number), schema, place(row + index))
        row += len(batch)
    return MalformedSource(f"the file is no JSON: {error}")


def _check_alone(value: Any, schema: pa.Schema, place: str) -> None:
    if not isinstance(value, dict):
        raise MalformedSource(f"{place} is no JSON object", found=type(value).__name__)
    for field in schema:
        try:
            _check_lines([orjson.dumps({field.name: value.get(field.name)})], pa.schema([field]))
        except pa.ArrowException:
            raise does_not_fit(place, field, value.get(field.name)) from None


def _as_text(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, _read_as(field.type)) for field in schema])


def _read_as(data_type: Any) -> pa.DataType:
    """Times are read as text first, and what Arrow has no reader for; times inside structs and lists are left to it."""
    return pa.string() if pa.types.is_timestamp(data_type) else _readable(data_type)


def _readable(data_type: Any) -> pa.DataType:
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(_readable(field.type)) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_readable(data_type.value_type)))
    return pa.string() if pa.types.is_date(data_type) or pa.types.is_time(data_type) else data_type


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
