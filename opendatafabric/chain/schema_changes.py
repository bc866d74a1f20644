"""How one schema of a dataset differs from an earlier one, change by change (spec: Schema Evolution)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from opendatafabric.metadata.data_schema import (
    DataField,
    DataSchema,
    DataType,
    DataTypeList,
    DataTypeOption,
    DataTypeStruct,
)

LIST_ITEM = "[]"
"""Stands for the items of a list in the path of a change."""


class ChangeKind(Enum):
    """The ways in which two schemas differ."""

    ATTRIBUTES = "attributes changed"
    ORDER = "moved"
    OPTIONAL_FIELD_ADDED = "optional field added"
    REQUIRED_FIELD_ADDED = "required field added"
    FIELD_REMOVED = "field removed"
    TYPE_CHANGED = "type changed"
    BECAME_OPTIONAL = "became optional"
    BECAME_REQUIRED = "became required"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One difference; ``path`` leads to it by field names, from the outermost."""

    kind: ChangeKind
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'.'.join(self.path) or 'schema'}: {self.kind.value}"

    @property
    def nested(self) -> bool:
        """Whether it lies inside a struct or list."""
        return len(self.path) > 1


def schema_changes(earlier: DataSchema, new: DataSchema) -> list[SchemaChange]:
    """Every difference between two schemas; empty when they are identical, attributes included."""
    changes = [SchemaChange(ChangeKind.ATTRIBUTES, ())] if earlier.extra != new.extra else []
    return changes + list(_field_changes(earlier.fields, new.fields, ()))


def _field_changes(
    earlier: tuple[DataField, ...], new: tuple[DataField, ...], path: tuple[str, ...]
) -> Iterator[SchemaChange]:
    if earlier == new:
        return
    remaining = {field.name: (position, field) for position, field in enumerate(new)}
    for position, field in enumerate(earlier):
        here = (*path, field.name)
        if field.name not in remaining:
            yield SchemaChange(ChangeKind.FIELD_REMOVED, here)
            continue
        new_position, new_field = remaining.pop(field.name)
        if new_position != position:
            yield SchemaChange(ChangeKind.ORDER, here)
        if new_field.extra != field.extra:
            yield SchemaChange(ChangeKind.ATTRIBUTES, here)
        yield from _type_changes(field.type, new_field.type, here)
    for name, (_, added) in remaining.items():
        optional = isinstance(added.type, DataTypeOption)
        kind = ChangeKind.OPTIONAL_FIELD_ADDED if optional else ChangeKind.REQUIRED_FIELD_ADDED
        yield SchemaChange(kind, (*path, name))


def _type_changes(earlier: DataType, new: DataType, path: tuple[str, ...]) -> Iterator[SchemaChange]:
    if earlier == new:
        return
    if isinstance(earlier, DataTypeOption) or isinstance(new, DataTypeOption):
        yield from _optionality_changes(earlier, new, path)
    elif isinstance(earlier, DataTypeStruct) and isinstance(new, DataTypeStruct):
        yield from _field_changes(earlier.fields, new.fields, path)
    elif isinstance(earlier, DataTypeList) and isinstance(new, DataTypeList):
        if earlier.fixed_length != new.fixed_length:
            yield SchemaChange(ChangeKind.TYPE_CHANGED, path)
        yield from _type_changes(earlier.item_type, new.item_type, (*path, LIST_ITEM))
    else:
        yield SchemaChange(ChangeKind.TYPE_CHANGED, path)


def _optionality_changes(earlier: DataType, new: DataType, path: tuple[str, ...]) -> Iterator[SchemaChange]:
    if not isinstance(earlier, DataTypeOption):
        yield SchemaChange(ChangeKind.BECAME_OPTIONAL, path)
    elif not isinstance(new, DataTypeOption):
        yield SchemaChange(ChangeKind.BECAME_REQUIRED, path)
    inner_earlier = earlier.inner if isinstance(earlier, DataTypeOption) else earlier
    inner_new = new.inner if isinstance(new, DataTypeOption) else new
    yield from _type_changes(inner_earlier, inner_new, path)
