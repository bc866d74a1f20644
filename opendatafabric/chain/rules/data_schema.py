"""Rules of SetDataSchema against the chain (S1 to S9): how a schema may evolve."""

from __future__ import annotations

from collections.abc import Iterator

from opendatafabric.chain.rules.rule import Broken, Candidate, Verdict
from opendatafabric.chain.schema_changes import ChangeKind, SchemaChange, schema_changes
from opendatafabric.data.arrow_schema import arrow_schema_to_odf, read_legacy_schema
from opendatafabric.errors import OdfError
from opendatafabric.metadata.data_schema import (
    DataSchema,
    DataType,
    DataTypeInt32,
    DataTypeInt64,
    DataTypeTimestamp,
    TimeUnit,
)
from opendatafabric.metadata.events import SetDataSchema, SetVocab

At = Candidate[SetDataSchema]

HARMLESS = frozenset({ChangeKind.ATTRIBUTES, ChangeKind.ORDER, ChangeKind.OPTIONAL_FIELD_ADDED})
OPTIONALITY = frozenset({ChangeKind.BECAME_OPTIONAL, ChangeKind.BECAME_REQUIRED})
_CHANGES_SHOWN = 20
_SYSTEM_TIME = DataTypeTimestamp(TimeUnit.MILLISECOND, "UTC")


def legacy_schema_is_taken_as_it_is(at: At) -> Verdict | None:
    """A schema in the legacy form (``rawArrowSchema``) is accepted unchecked."""
    return Verdict.ACCEPTED if at.event.schema is None else None


def system_columns_are_typed(at: At) -> Broken | None:
    """The system columns of the vocabulary in force are there, required and of their types."""
    types = {field.name: field.type for field in _schema(at).fields}
    wrong = [f"{name} {_name(expected)}" for name, expected in _system_columns(at) if types.get(name) != expected]
    return Broken("system columns are missing or of other types", expected=", ".join(wrong)) if wrong else None


def first_schema_is_free(at: At) -> Verdict | None:
    """Without an earlier schema any schema is accepted."""
    return None if isinstance(at.state.data_schema, SetDataSchema) else Verdict.ACCEPTED


def earlier_legacy_schema_is_readable(at: At) -> Broken | None:
    """An earlier schema in the legacy form is converted to be compared, and its optionality does not count."""
    try:
        _earlier(at)
    except OdfError as error:
        return Broken(f"the schema in force cannot be compared with: {error.message}", found="rawArrowSchema")
    return None


def schema_is_not_identical(at: At) -> Broken | None:
    """A schema differs from the one in force, be it in attributes only."""
    return None if _changes(at) else Broken("the schema is the one in force already")


def attributes_and_order_may_change(at: At) -> Verdict | None:
    """A schema that differs in attributes or order of fields only is accepted."""
    cosmetic = {ChangeKind.ATTRIBUTES, ChangeKind.ORDER}
    return Verdict.ACCEPTED if all(change.kind in cosmetic for change in _counting_changes(at)) else None


def added_fields_are_optional(at: At) -> Broken | None:
    """A field that is added is optional."""
    return _refused(change for change in _breaking_changes(at) if not change.nested and _adds(change))


def fields_keep_name_and_type(at: At) -> Broken | None:
    """No field is removed or renamed, changes its type, becomes optional or becomes required."""
    return _refused(change for change in _breaking_changes(at) if not change.nested and not _adds(change))


def nested_fields_evolve_alike(at: At) -> Broken | None:
    """The same holds inside structs and lists; a difference inside any other nested type is a change of type."""
    return _refused(change for change in _breaking_changes(at) if change.nested)


def _refused(changes: Iterator[SchemaChange]) -> Broken | None:
    texts = [str(change) for change in changes]
    if not texts:
        return None
    return Broken(
        f"the schema is not compatible with the one in force ({'; '.join(texts[:3])})",
        expected="new optional fields, other attributes, another order",
        found="; ".join(texts[:_CHANGES_SHOWN]),
    )


def _adds(change: SchemaChange) -> bool:
    return change.kind is ChangeKind.REQUIRED_FIELD_ADDED


def _breaking_changes(at: At) -> list[SchemaChange]:
    return [change for change in _counting_changes(at) if change.kind not in HARMLESS]


def _counting_changes(at: At) -> list[SchemaChange]:
    """The changes without those of optionality where the earlier schema was a legacy one."""
    legacy = isinstance(at.state.data_schema, SetDataSchema) and at.state.data_schema.schema is None
    return [change for change in _changes(at) if not (legacy and change.kind in OPTIONALITY)]


def _changes(at: At) -> list[SchemaChange]:
    return schema_changes(_earlier(at), _schema(at))


def _schema(at: At) -> DataSchema:
    return at.event.schema or DataSchema(())


def _earlier(at: At) -> DataSchema:
    """The schema in force; asked for only behind ``first_schema_is_free``."""
    before = at.state.data_schema
    if not isinstance(before, SetDataSchema):
        return DataSchema(())
    return before.schema or arrow_schema_to_odf(read_legacy_schema(before.raw_arrow_schema or b""))


def _system_columns(at: At) -> list[tuple[str, DataType]]:
    vocab = at.state.vocab if isinstance(at.state.vocab, SetVocab) else SetVocab()
    return [
        (vocab.offset_column or "offset", DataTypeInt64()),
        (vocab.operation_type_column or "op", DataTypeInt32()),
        (vocab.system_time_column or "system_time", _SYSTEM_TIME),
    ]


def _name(data_type: DataType) -> str:
    return type(data_type).__name__.removeprefix("DataType")
