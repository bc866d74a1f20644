"""The result of a transform made records of a dataset: checked, with an operation, in milliseconds, in its schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.changelog import first_unknown_operation
from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import IncompatibleSchema, MalformedData
from opendatafabric.metadata.events import SetDataSchema
from pipeline.declared import kind_of

_APPEND: Final = pa.scalar(0, pa.int32())


def as_changes(
    result: pa.Table, vocabulary: DatasetVocabulary, in_force: pa.Schema | None, *, event_time_first: bool
) -> pa.Table:
    """The rows with their operation in front, by default an append; the other columns as the query has them.

    ``event_time_first`` is how one engine orders columns, ``in_force`` the schema that the dataset has already.

    Raises:
        IncompatibleSchema: no event time, a column that the system adds, or one of the dataset is not there.
        MalformedData: an operation that there is not.
    """
    records = without_views(result.replace_schema_metadata())
    check_schema(records.schema, vocabulary)
    for index, field in enumerate(records.schema):
        if pa.types.is_timestamp(field.type) and field.type != TIMESTAMP:
            records = records.set_column(index, field.with_type(TIMESTAMP), _milliseconds(records.column(index)))
    records = _with_operation(records, vocabulary.operation_type_column)
    first = [vocabulary.operation_type_column, *([vocabulary.event_time_column] if event_time_first else [])]
    records = records.select([*first, *(name for name in records.column_names if name not in first)])
    if in_force is not None:
        _check_columns(records.column_names, in_force, vocabulary)
    return records


def check_schema(schema: pa.Schema, vocabulary: DatasetVocabulary) -> None:
    """That a result has an event time, and columns that a dataset can have; errors as ``as_changes``."""
    _check_names(schema.names, vocabulary)
    _check_event_time(schema, vocabulary.event_time_column)


def _check_names(names: list[str], vocabulary: DatasetVocabulary) -> None:
    for name in names:
        if name in (vocabulary.offset_column, vocabulary.system_time_column):
            raise IncompatibleSchema(
                f"the transform gives a column '{name}', which every record gets of its own",
                hint="leave it out of the query, or give it another name",
            )
        if names.count(name) > 1:
            raise IncompatibleSchema(f"the transform gives two columns '{name}'", hint="rename one by AS")


def _check_event_time(schema: pa.Schema, name: str) -> None:
    if name not in schema.names:
        raise IncompatibleSchema(
            f"the transform gives no event time '{name}'",
            found=", ".join(schema.names),
            hint="select it, or name another column by SetVocab",
        )
    found = schema.field(name).type
    if not (pa.types.is_timestamp(found) or pa.types.is_date(found)):
        raise IncompatibleSchema(
            f"the event time '{name}' is no time", expected="a timestamp or a date", found=found, hint="cast it"
        )


def _milliseconds(times: Any) -> Any:
    """Rounded down; a time without zone is in UTC."""
    cut = pc.floor_temporal(times, unit="millisecond")
    return cut.cast(pa.timestamp("ms", times.type.tz)).cast(TIMESTAMP)


def _with_operation(records: pa.Table, name: str) -> pa.Table:
    if name not in records.column_names:
        field = pa.field(name, pa.int32(), nullable=False)
        return records.append_column(field, pa.repeat(_APPEND, len(records)))
    index = records.column_names.index(name)
    field = records.schema.field(index)
    if not pa.types.is_integer(field.type):
        raise IncompatibleSchema(f"the operation '{name}' is no number", expected="an INT", found=field.type)
    operations = records.column(index).cast(pa.int32())
    wrong = first_unknown_operation(operations)
    if wrong is not None:
        raise MalformedData(f"the transform gives an operation '{name}' that there is not", found=operations[wrong])
    return records.set_column(index, field.with_type(pa.int32()), operations)


def _check_columns(names: list[str], in_force: pa.Schema, vocabulary: DatasetVocabulary) -> None:
    """Those of the dataset stay; more may come."""
    gone = [name for name in in_force.names if name not in {*names, *_given_to_all(vocabulary)}]
    if gone:
        raise IncompatibleSchema(
            f"the transform no longer gives {', '.join(gone)}, which the dataset has",
            found=", ".join(names),
            hint="a query may be changed to give more columns: derive a new dataset for fewer, or other names",
        )


def _given_to_all(vocabulary: DatasetVocabulary) -> tuple[str, str]:
    return vocabulary.offset_column, vocabulary.system_time_column


def evolved(changes: pa.Schema, in_force: SetDataSchema) -> SetDataSchema | None:
    """The schema in force with the columns that are new in ``changes``, all optional; ``None`` if there are none.

    Raises:
        IncompatibleSchema: a column has another type than the dataset says.
    """
    known = arrow_schema(in_force)
    _check_types(changes, known)
    new = [field.with_nullable(True) for field in changes if field.name not in known.names]
    if not new:
        return None
    before = in_force.schema if in_force.schema is not None else arrow_schema_to_odf(known)
    added = arrow_schema_to_odf(pa.schema([field.remove_metadata() for field in new]))
    return SetDataSchema(schema=replace(before, fields=(*before.fields, *added.fields)))


def _check_types(changes: pa.Schema, known: pa.Schema) -> None:
    for field in changes:
        if field.name in known.names and kind_of(field.type) != kind_of(known.field(field.name).type):
            raise IncompatibleSchema(
                f"the transform gives '{field.name}' in another type than the dataset has",
                expected=known.field(field.name).type,
                found=field.type,
                hint="cast it in the query, or derive a new dataset",
            )
