"""What all formats share: the schema of the step, options that have one legal value, nulls where none may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.ddl import read_ddl
from opendatafabric.errors import MalformedSource, UnsupportedOperation

RowPlace = Callable[[int], str]
"""Where row ``n`` (from 0) stands in the file, for people."""

_ONLY: Final = {
    "encoding": ("utf8", "utf-8"),
    "nullValue": ("",),
    "dateFormat": ("rfc3339",),
    "timestampFormat": ("rfc3339",),
}


def declared_schema(definitions: Sequence[str] | None) -> pa.Schema | None:
    """The schema of a read step, if it has one."""
    return read_ddl(definitions) if definitions else None


def no_rows(schema: pa.Schema | None) -> Iterator[pa.Table] | None:
    """What an empty file holds."""
    return None if schema is None else iter([schema.empty_table()])


def does_not_fit(place: str, field: pa.Field, found: object) -> MalformedSource:
    """The error of a value that is not of the type of its column."""
    return MalformedSource(
        f"{place}: column '{field.name}' does not fit its type", expected=field.type, found=str(found)[:100]
    )


def check_options(**given: str | None) -> None:
    """That options of which one value is supported have that one, or none.

    Raises:
        UnsupportedOperation: names the option.
    """
    for name, value in given.items():
        if value is not None and value.lower() not in _ONLY[name]:
            raise UnsupportedOperation(
                f"{name} '{value}' is not supported", expected=repr(_ONLY[name][0]), hint="convert it in the query"
            )


def check_required(records: pa.Table, schema: pa.Schema, place: RowPlace) -> pa.Table:
    """The records with the nullability of ``schema``.

    Raises:
        MalformedSource: a null in a column that says NOT NULL.
    """
    for field in schema:
        column = records.column(field.name)
        if not field.nullable and column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise MalformedSource(f"{place(row)}: column '{field.name}' is empty and says NOT NULL")
    return pa.Table.from_arrays(records.columns, schema=schema)
