"""The columns of a source's records made those of a dataset: no system columns, milliseconds, an event time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from opendatafabric.data.arrow_storage import storage_type, without_views
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import IncompatibleSchema
from pipeline.declared import kind_of


def prepare(
    records: pa.Table, vocabulary: DatasetVocabulary, *, takes_op: bool, in_force: pa.Schema | None
) -> pa.Table:
    """``records`` with every top-level timestamp in UTC milliseconds and with an event time, of nulls if need be.

    ``in_force`` is the schema of the dataset, if it has one; ``takes_op`` says that the source may have an operation.

    Raises:
        IncompatibleSchema: system columns in the input, an event time that is no time, or columns that are not those
            of the dataset.
    """
    records = without_views(records.replace_schema_metadata())
    _check_names(records.column_names, vocabulary, takes_op=takes_op)
    for index, field in enumerate(records.schema):
        if pa.types.is_timestamp(field.type) and field.type != TIMESTAMP:
            records = records.set_column(index, field.with_type(TIMESTAMP), _milliseconds(records.column(index)))
    records = _with_event_time(records, vocabulary.event_time_column, in_force)
    if in_force is not None:
        _check_compatible(data_fields(records.schema, vocabulary), data_fields(in_force, vocabulary))
    return records


def data_fields(schema: pa.Schema, vocabulary: DatasetVocabulary) -> list[pa.Field]:
    """The event time and the columns that are not of the system, in their order."""
    event_time = schema.field(vocabulary.event_time_column)
    return [event_time, *(field for field in schema if field.name not in vocabulary.system_columns)]


def slice_schema(changes: pa.Schema, vocabulary: DatasetVocabulary) -> pa.Schema:
    """The schema of a first slice of records that have their operation in front."""
    return pa.schema(
        [
            pa.field(vocabulary.offset_column, pa.int64(), nullable=False),
            changes.field(0),
            pa.field(vocabulary.system_time_column, TIMESTAMP, nullable=False),
            *(changes.field(index) for index in range(1, len(changes))),
        ]
    )


def _check_names(names: list[str], vocabulary: DatasetVocabulary, *, takes_op: bool) -> None:
    reserved = {vocabulary.offset_column, vocabulary.system_time_column}
    reserved |= set() if takes_op else {vocabulary.operation_type_column}
    for name in names:
        if name in reserved or names.count(name) > 1:
            raise IncompatibleSchema(
                f"column '{name}' of the source is named like a column of the system, or is there twice",
                hint="rename it in the preprocess query",
            )


def _milliseconds(times: Any) -> Any:
    """Cut as the reference does; a time without zone is in UTC."""
    return times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(TIMESTAMP)


def _with_event_time(records: pa.Table, name: str, in_force: pa.Schema | None) -> pa.Table:
    if name not in records.column_names:
        data_type = TIMESTAMP if in_force is None else in_force.field(name).type
        return records.append_column(pa.field(name, data_type), pa.nulls(len(records), data_type))
    found = records.schema.field(name).type
    if not (pa.types.is_timestamp(found) or pa.types.is_date(found)):
        raise IncompatibleSchema(
            f"the event time '{name}' is no time", expected="a timestamp or a date", found=found, hint="cast it"
        )
    return records


def _check_compatible(given: list[pa.Field], in_force: list[pa.Field]) -> None:
    """By position: the same names, and types of the same values."""
    if [field.name for field in given] != [field.name for field in in_force]:
        raise IncompatibleSchema(
            "the source has other columns than the dataset",
            expected=", ".join(field.name for field in in_force),
            found=", ".join(field.name for field in given),
            hint="select them in this order in the preprocess query",
        )
    for ours, theirs in zip(given, in_force, strict=True):
        if not _same_values(ours.type, theirs.type):
            raise IncompatibleSchema(
                f"column '{ours.name}' has another type than in the dataset", expected=theirs.type, found=ours.type
            )


def _same_values(one: Any, other: Any) -> bool:
    """Whether types differ in layout at most."""
    one, other = storage_type(one), storage_type(other)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        same_names = [field.name for field in one] == [field.name for field in other]
        return same_names and all(_same_values(a.type, b.type) for a, b in zip(one, other, strict=True))
    if _is_list(one) and _is_list(other):
        return _same_values(one.value_type, other.value_type)
    if kind_of(one) in {"text", "bytes"}:
        return bool(kind_of(one) == kind_of(other))
    return bool(one == other)


def _is_list(data_type: Any) -> bool:
    return bool(pa.types.is_list(data_type) or pa.types.is_large_list(data_type))
