"""Answers as JSON in the shapes of the reference's API: ``data``, ``dataFormat`` and, where asked for, the schema.

Canonical answers can be hashed as they are: no blanks, sorted keys, nothing but ASCII, numbers in one shortest form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, Final

import orjson
import pyarrow as pa

from opendatafabric.canonical_json import ascii_json
from pipeline.query.answer_form import AnswerForm, JsonShape
from pipeline.query.schema_text import schema_value
from pipeline.reading.text_values import json_columns, text_rows, unique_names

_SORTED: Final = orjson.OPT_SORT_KEYS


def write_json(schema: pa.Schema, batches: Iterable[pa.RecordBatch], form: AnswerForm, sink: BinaryIO) -> None:
    """The answer as one JSON object.

    Raises:
        UnsupportedOperation: values or names that JSON cannot hold.
    """

    def write(text: bytes) -> None:
        sink.write(ascii_json(text) if form.canonical else text)

    shape = JsonShape(form.shape.value)
    names, options = unique_names(schema), _SORTED if form.canonical else 0
    write(b'{"data":')
    if shape is JsonShape.SOA:
        write(orjson.dumps(_columns(names, batches), option=options))
    else:
        _write_rows(names, batches, shape, options, write)
    write(orjson.dumps({"dataFormat": shape.value, **_schema(schema, form)}, option=_SORTED).replace(b"{", b",", 1))


def _write_rows(
    names: list[str],
    batches: Iterable[pa.RecordBatch],
    shape: JsonShape,
    options: int,
    write: Callable[[bytes], None],
) -> None:
    before = b"["
    for batch in batches:
        rows: Iterable[Any] = text_rows(batch)
        if shape is JsonShape.AOS:
            rows = (dict(zip(names, row, strict=True)) for row in rows)
        write(before + orjson.dumps(list(rows), option=options)[1:-1])
        before = b","
    write(b"[]" if before == b"[" else b"]")


def _columns(names: list[str], batches: Iterable[pa.RecordBatch]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for batch in batches:
        for name, values in zip(names, json_columns(batch), strict=True):
            columns[name] += values
    return columns


def _schema(schema: pa.Schema, form: AnswerForm) -> dict[str, Any]:
    if form.schema_format is None:
        return {}
    return {"schema": schema_value(schema, form.schema_format), "schemaFormat": form.schema_format.value}
