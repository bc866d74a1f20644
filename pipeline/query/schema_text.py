"""Schemas in the formats of the reference's API: of Arrow, of Open Data Fabric, and of Parquet.

Those of Parquet are what a file of these records would have, as the Rust tools print it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.codec.plain import to_plain
from opendatafabric.codec.yaml_writer import write_yaml
from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from pipeline.query.answer_form import SchemaFormat
from pipeline.query.arrow_json import arrow_json

_ROOT: Final = "arrow_schema"
_LINE: Final = re.compile(
    r"\s*(?P<repetition>optional|required|repeated) (?P<type>\w+)(?:\((?P<length>\d+)\))? field_id=-?\d+ "
    r"(?P<name>.*?)(?: \((?P<logical>[A-Z]\w*(?:\(.*\))?)\))?(?P<end> \{|;)"
)
_TYPES: Final = {"binary": "BYTE_ARRAY"}
_LOGICAL: Final[dict[str, str]] = {"String": "STRING", "Date": "DATE", "List": "LIST", "Map": "MAP"}
_UNITS: Final = {"milliseconds": "MILLIS", "microseconds": "MICROS", "nanoseconds": "NANOS"}


def schema_value(schema: pa.Schema, schema_format: SchemaFormat) -> Any:
    """The schema as a value of JSON: an object, or text where the format is one."""
    return _WRITERS[schema_format](schema.remove_metadata())


def _parquet_text(schema: pa.Schema) -> str:
    lines, depth = [f"message {_ROOT} {{"], 1
    for found in _parquet_lines(schema):
        if found is None:
            depth -= 1
            lines.append(f"{'  ' * depth}}}")
            continue
        opens, logical = found["end"] != ";", _logical(found["logical"])
        length = f" ({found['length']})" if found["length"] else ""
        kind = "group" if opens else _physical(found["type"])
        lines.append(
            f"{'  ' * depth}{found['repetition'].upper()} {kind}{length} {found['name']}"
            f"{f' ({logical})' if logical else ''}{found['end']}"
        )
        depth += opens
    return "\n".join([*lines, "}"]) + "\n"


def _parquet_json(schema: pa.Schema) -> dict[str, Any]:
    root: dict[str, Any] = {"name": _ROOT, "type": "struct", "fields": []}
    open_groups = [root]
    for found in _parquet_lines(schema):
        if found is None:
            open_groups.pop()
            continue
        opens, logical = found["end"] != ";", _logical(found["logical"])
        field: dict[str, Any] = {"name": found["name"], "repetition": found["repetition"].upper()}
        field["type"] = "struct" if opens else _physical(found["type"])
        if logical:
            field["logicalType"] = logical
        open_groups[-1]["fields"] = [*open_groups[-1].get("fields", []), field]
        if opens:
            open_groups.append(field)
    return root


def _parquet_lines(schema: pa.Schema) -> Iterator[re.Match[str] | None]:
    """Fields, and ``None`` where a group ends."""
    sink = io.BytesIO()
    pq.write_table(schema.empty_table(), sink)
    text = str(pq.ParquetFile(sink).schema)
    for line in text[text.index("{\n") + 2 :].splitlines()[:-1]:
        yield _LINE.fullmatch(line)


def _physical(name: str) -> str:
    return _TYPES.get(name, name.upper())


def _logical(told: str | None) -> str | None:
    """``Timestamp(isAdjustedToUTC=true, timeUnit=milliseconds, …)`` as ``TIMESTAMP(MILLIS,true)``."""
    if told is None:
        return None
    name, _, rest = told.partition("(")
    given = dict(part.strip().split("=", 1) for part in rest.rstrip(")").split(",") if "=" in part)
    if name in {"Timestamp", "Time"}:
        return f"{name.upper()}({_UNITS[given['timeUnit']]},{given['isAdjustedToUTC']})"
    if name == "Decimal":
        return f"DECIMAL({given['precision']},{given['scale']})"
    if name == "Int":
        return f"INTEGER({given['bitWidth']},{given['isSigned']})"
    return _LOGICAL.get(name, name.upper())


def _odf_json(schema: pa.Schema) -> Any:
    return to_plain(arrow_schema_to_odf(schema))


def _odf_yaml(schema: pa.Schema) -> str:
    return write_yaml(to_plain(arrow_schema_to_odf(schema)))


_WRITERS: Final[dict[SchemaFormat, Callable[[pa.Schema], Any]]] = {
    SchemaFormat.ARROW_JSON: arrow_json,
    SchemaFormat.ODF_JSON: _odf_json,
    SchemaFormat.ODF_YAML: _odf_yaml,
    SchemaFormat.PARQUET: _parquet_text,
    SchemaFormat.PARQUET_JSON: _parquet_json,
}
