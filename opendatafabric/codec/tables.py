"""The schema as data: one row per field, compiled from the declarations of the metadata types.

Every codec (FlatBuffers, YAML and JSON, JSON Schema) walks these rows, so a type is written down once. The rules that
turn a declaration into a row are in ``metadata/wire_types.py``; they are those of the FlatBuffers schema of ODF 0.37.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, fields
from enum import Enum, auto
from functools import cache
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from opendatafabric.metadata import data_schema, engine_messages, events, sources, transform
from opendatafabric.metadata.annotations import AttachmentsEmbedded
from opendatafabric.metadata.events import UnknownEvent
from opendatafabric.metadata.slices import ExtraAttributes
from opendatafabric.metadata.wire_types import I32, Scalar, UnionOf, Wrapped
from opendatafabric.multihash import Multihash


class Kind(Enum):
    """How the value of a field is stored."""

    SCALAR = auto()
    BOOL = auto()
    ENUM = auto()
    INSTANT = auto()
    STRING = auto()
    HASH = auto()
    DATASET_ID = auto()
    DATASET_REF = auto()
    DATASET_ALIAS = auto()
    BYTES = auto()
    ATTRIBUTES = auto()
    TABLE = auto()
    UNION = auto()
    STRINGS = auto()
    TABLES = auto()
    UNIONS = auto()
    """A vector of unions, each element in a wrapper table."""


INLINE: Final = frozenset({Kind.SCALAR, Kind.BOOL, Kind.ENUM, Kind.INSTANT})
"""Kinds that lie in the table itself; all others are reached by an offset."""


@dataclass(frozen=True, slots=True)
class UnionSpec:
    """A choice between tables; the id of a member is its place, from 1."""

    name: str
    members: tuple[type, ...]

    def id_of(self, member: type) -> int:
        return self.members.index(member) + 1

    def tag_of(self, member: type) -> str:
        """The ``kind`` of the text form: the table's name without that of the union."""
        return member.__name__.removeprefix(self.name)


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field. ``slot`` is that of the value; the type of a union has the slot before."""

    name: str
    text_name: str
    slot: int
    kind: Kind
    optional: bool
    scalar: Scalar | None = None
    target: Any = None
    """Table type, enum type or ``UnionSpec``, by ``kind``."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """All fields of one metadata type in the order of their slots."""

    type: type
    fields: tuple[FieldSpec, ...]

    @property
    def name(self) -> str:
        return self.type.__name__

    @property
    def slots_total(self) -> int:
        return self.fields[-1].slot + 1 if self.fields else 0


_UNIONS: Final = {
    "MetadataEvent": events.MetadataEvent,
    "FetchStep": sources.FetchStep,
    "PrepStep": sources.PrepStep,
    "ReadStep": sources.ReadStep,
    "MergeStrategy": sources.MergeStrategy,
    "EventTimeSource": sources.EventTimeSource,
    "DataType": data_schema.DataType,
    "RawQueryResponse": engine_messages.RawQueryResponse,
    "TransformResponse": engine_messages.TransformResponse,
}
_UNIONS_OF_ONE: Final[dict[str, type]] = {
    "SourceCaching": sources.SourceCachingForever,
    "Transform": transform.TransformSql,
    "Attachments": AttachmentsEmbedded,
}
_ENUM_SCALARS: Final[dict[type[Enum], Scalar]] = {data_schema.TimeUnit: Scalar("h", -(2**15), 2**15 - 1)}
_ENUM_SCALAR: Final[Scalar] = I32.__metadata__[0]  # type: ignore[attr-defined]
_SIMPLE: Final[dict[Any, Kind]] = {
    str: Kind.STRING,
    bytes: Kind.BYTES,
    bool: Kind.BOOL,
    Multihash: Kind.HASH,
    DatasetId: Kind.DATASET_ID,
    DatasetAlias: Kind.DATASET_ALIAS,
    Instant: Kind.INSTANT,
    ExtraAttributes: Kind.ATTRIBUTES,
}


@cache
def unions() -> tuple[UnionSpec, ...]:
    """Every union of the format."""
    several = [UnionSpec(name, get_args(union)) for name, union in _UNIONS.items()]
    return (*several, *(UnionSpec(name, (member,)) for name, member in _UNIONS_OF_ONE.items()))


@cache
def table_of(kind: Any) -> TableSpec:
    """The rows of a metadata type."""
    hints = get_type_hints(kind, include_extras=True)
    rows: list[FieldSpec] = []
    slot = 0
    for field in fields(kind):
        row = _compile(field.name, hints[field.name], slot)
        rows.append(row)
        slot = row.slot + 1
    return TableSpec(kind, tuple(rows))


def text_name(name: str) -> str:
    """``prev_block_hash`` → ``prevBlockHash``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def enum_text(member: Enum) -> str:
    """``BY_EVENT_TIME`` → ``ByEventTime``."""
    return "".join(part.capitalize() for part in member.name.split("_"))


def spellings(text: str) -> tuple[str, str, str]:
    """The three spellings of a kind or enum member that text may use: PascalCase, camelCase, lower case."""
    return text, text[0].lower() + text[1:], text.lower()


def _compile(name: str, hint: Any, slot: int) -> FieldSpec:
    bare, markers = _strip_annotation(hint)
    bare, optional = _strip_optional(bare)
    bare, inner_markers = _strip_annotation(bare)
    kind, scalar, target = _classify(bare, markers + inner_markers)
    value_slot = slot + 1 if kind is Kind.UNION else slot
    return FieldSpec(name, text_name(name), value_slot, kind, optional, scalar, target)


def _strip_annotation(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is Annotated:
        return hint.__origin__, hint.__metadata__
    return hint, ()


def _strip_optional(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    members = [member for member in get_args(hint) if member is not UnknownEvent]
    given = [member for member in members if member is not type(None)]
    return (given[0] if len(given) == 1 else Union[tuple(given)]), len(given) < len(members)  # noqa: UP007


def _classify(hint: Any, markers: tuple[Any, ...]) -> tuple[Kind, Scalar | None, Any]:  # noqa: PLR0911  one per form
    for marker in markers:
        if isinstance(marker, Scalar):
            return Kind.SCALAR, marker, None
        if isinstance(marker, UnionOf):
            return Kind.UNION, None, UnionSpec(marker.name, (hint,))
    if hint in _SIMPLE:
        return _SIMPLE[hint], None, None
    if get_origin(hint) is tuple:
        return _classify_vector(get_args(hint)[0], markers)
    if get_origin(hint) in (Union, types.UnionType):
        return _classify_union(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Kind.ENUM, _ENUM_SCALARS.get(hint, _ENUM_SCALAR), hint
    return Kind.TABLE, None, hint


def _classify_vector(item: Any, markers: tuple[Any, ...]) -> tuple[Kind, Scalar | None, Any]:
    if get_origin(item) in (Union, types.UnionType) or any(isinstance(marker, Wrapped) for marker in markers):
        return Kind.UNIONS, None, _classify_union(item)[2]
    if item is str:
        return Kind.STRINGS, None, None
    return Kind.TABLES, None, item


def _classify_union(hint: Any) -> tuple[Kind, Scalar | None, Any]:
    members = get_args(hint)
    if set(members) == {DatasetId, DatasetAlias}:
        return Kind.DATASET_REF, None, None
    name = next(name for name, union in _UNIONS.items() if get_args(union) == members)
    return Kind.UNION, None, UnionSpec(name, members)
