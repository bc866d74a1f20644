"""Nodes of YAML to metadata values, driven by the tables; every error names its line, column and field.

Nothing is guessed: unknown fields, a number where text is due and repeated keys are errors at every level. Only the
fields around the events (names, hashes and times of manifest, block and snapshot) take any unquoted word as text, as
the reference does: there ``name: 123`` is a name.
Source: metadata manifests of the spec; values as the reference reads them.
"""

from __future__ import annotations

import base64
import binascii
import difflib
from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import Any, Final

from opendatafabric.codec.manifest_place import Place
from opendatafabric.codec.other_versions import SAME_FIELD, former_field, former_kind, former_value
from opendatafabric.codec.tables import FieldSpec, Kind, UnionSpec, enum_text, spellings, table_of
from opendatafabric.codec.yaml_reader import Mapping, Node, Scalar, Sequence
from opendatafabric.codec.yaml_scalars import PlainValue, resolve_integer
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput, MalformedManifest
from opendatafabric.instant import Instant
from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.multihash import Multihash

_PARSERS: Final[dict[Kind, Any]] = {
    Kind.INSTANT: Instant.from_rfc3339,
    Kind.HASH: Multihash.from_text,
    Kind.DATASET_ID: DatasetId.from_text,
    Kind.DATASET_REF: parse_dataset_ref,
    Kind.DATASET_ALIAS: DatasetAlias.from_text,
}
_NULL_REFUSED: Final = frozenset({Kind.INSTANT, Kind.BYTES})
"""Optional fields of these kinds may be left out, and yet not be null."""


def read_fields(place: Place, table: str, allowed: Iterable[str]) -> dict[str, Place]:
    """The entries of a mapping by name, each at most once and allowed."""
    if not isinstance(place.node, Mapping):
        raise place.wrong(f"{table} is a mapping of fields", expected="a mapping")
    fields: dict[str, Place] = {}
    for key, value in place.node.entries:
        at_key = Place(key, place.path)
        name = _key(at_key)
        if name not in allowed:
            name = _known_name(at_key, table, name, allowed)
        if name in fields:
            raise at_key.wrong(f"field {name} is given twice")
        fields[name] = place.inside(name, value)
    return fields


def read_table(place: Place, kind: Any, fields: dict[str, Place] | None = None) -> Any:
    """The mapping at ``place`` as a value of ``kind``."""
    spec = table_of(kind)
    rows = _rows(kind)
    if fields is None:
        fields = read_fields(place, spec.name, rows)
    values = {row.name: _field(place, spec.name, row, fields.get(row.text_name)) for row in spec.fields}
    return kind(**values)


def read_union(place: Place, union: UnionSpec) -> Any:
    """The mapping at ``place`` as the member its ``kind`` names."""
    if not isinstance(place.node, Mapping):
        raise place.wrong(f"{union.name} is a mapping with kind", expected="a mapping")
    kinds = [value for key, value in place.node.entries if isinstance(key, Scalar) and key.value == "kind"]
    if not kinds:
        raise place.wrong("field kind is missing", expected=", ".join(sorted(set(_members(union).values()), key=str)))
    member_type = _member(place.inside("kind", kinds[0]), union)
    inner = Place(place.node, place.path)
    fields = read_fields(inner, member_type.__name__, {"kind", *_rows(member_type)})
    return read_table(inner, member_type, fields)


def read_text(place: Place) -> str:
    """A text scalar."""
    node = place.node
    if isinstance(node, Scalar):
        if place.any_word:
            return node.text
        if isinstance(node.value, str):
            return node.value
    raise place.wrong(
        "must be text", expected="text", hint="put quotes around it" if isinstance(node, Scalar) else None
    )


def read_integer(place: Place, *, minimum: int, maximum: int) -> int:
    """A whole number within bounds, both inclusive."""
    value = _number(place)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise place.wrong("must be a whole number", expected=f"{minimum} to {maximum}")
    return value


def _number(place: Place) -> PlainValue:
    node = place.node
    if not isinstance(node, Scalar):
        return None
    if place.any_word:  # where any word is text, it is the digits that count and not what a tag says of them
        return resolve_integer(node.text) if node.plain else None
    return node.value


def _key(at_key: Place) -> str:
    node = at_key.node
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node.value
    raise at_key.wrong("the name of a field must be text", expected="text")


def _known_name(at_key: Place, table: str, name: str, allowed: Iterable[str]) -> str:
    former = former_field(table, name)
    if former is not None:
        raise at_key.of_other_version(f"field {name} of {table}", *former)
    same = SAME_FIELD.get(name) if table.startswith("ReadStep") else None
    if same is not None:
        return same
    close = difflib.get_close_matches(name[:100], sorted(allowed), 1)
    raise at_key.wrong(
        f"{table} has no field {name[:100]!r}",
        expected=", ".join(sorted(allowed)) or "no fields",
        hint=f"did you mean {close[0]}?" if close else None,
    )


@cache
def _rows(kind: Any) -> dict[str, FieldSpec]:
    return {row.text_name: row for row in table_of(kind).fields}


@cache
def _members(union: UnionSpec) -> dict[str, str]:
    """Every spelling of every kind, with the one that is written."""
    return {spelling: union.tag_of(member) for member in union.members for spelling in spellings(union.tag_of(member))}


def _member(place: Place, union: UnionSpec) -> type:
    text = read_text(place)
    tag = _members(union).get(text)
    if tag is None:
        former = former_kind(union.name, text)
        if former is not None:
            raise place.of_other_version(f"{union.name} {text}", *former)
        expected = ", ".join(union.tag_of(member) for member in union.members)
        raise place.wrong(f"there is no {union.name} of kind {text[:100]!r}", expected=expected)
    return next(member for member in union.members if union.tag_of(member) == tag)


def _field(owner: Place, table: str, row: FieldSpec, place: Place | None) -> Any:
    if place is None:
        if row.optional:
            return None
        raise owner.wrong(f"field {row.text_name} of {table} is missing")
    if row.optional and row.kind not in _NULL_REFUSED and _is_null(place.node):
        return None
    former = former_value(
        table, row.text_name, is_text=_is_text(place.node), is_mapping=isinstance(place.node, Mapping)
    )
    if former is not None and row.kind is not Kind.STRING:
        raise place.of_other_version(f"this value of {row.text_name}", *former)
    return _value(place, row)


def _value(place: Place, row: FieldSpec) -> Any:  # noqa: PLR0911  one per kind
    match row.kind:
        case Kind.STRING:
            return read_text(place)
        case Kind.SCALAR if row.scalar is not None:
            return read_integer(place, minimum=row.scalar.minimum, maximum=row.scalar.maximum)
        case Kind.BOOL:
            return _bool(place)
        case Kind.ENUM:
            return _enum(place, row.target)
        case Kind.BYTES:
            return _bytes(place)
        case Kind.ATTRIBUTES:
            return _attributes(place)
        case Kind.TABLE:
            return read_table(place, row.target)
        case Kind.UNION:
            return read_union(place, row.target)
        case Kind.STRINGS:
            return tuple(read_text(item) for item in _items(place))
        case Kind.TABLES:
            return tuple(read_table(item, row.target) for item in _items(place))
        case Kind.UNIONS:
            return tuple(read_union(item, row.target) for item in _items(place))
        case kind:
            return _parsed(place, _PARSERS[kind])


def _parsed(place: Place, parse: Any) -> Any:
    try:
        return parse(read_text(place))
    except MalformedManifest:
        raise
    except MalformedInput as error:
        raise place.wrong(error.message, expected=error.expected, hint=error.hint) from None


def _items(place: Place) -> list[Place]:
    if not isinstance(place.node, Sequence):
        raise place.wrong("must be a list", expected="a list")
    return [place.item(index, node) for index, node in enumerate(place.node.items)]


def _bool(place: Place) -> bool:
    value = place.node.value if isinstance(place.node, Scalar) else None
    if not isinstance(value, bool):
        raise place.wrong("must be true or false", expected="true or false")
    return value


@cache
def _enum_members(kind: type[Enum]) -> dict[str, Enum]:
    return {spelling: member for member in kind for spelling in spellings(enum_text(member))}


def _enum(place: Place, kind: type[Enum]) -> Enum:
    text = read_text(place)
    member = _enum_members(kind).get(text)
    if member is None:
        expected = ", ".join(enum_text(member) for member in kind)
        raise place.wrong(f"there is no {kind.__name__} {text[:100]!r}", expected=expected)
    return member


def _bytes(place: Place) -> bytes:
    text = read_text(place)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode() != text:
        raise place.wrong("must be base64", expected="standard base64 with padding")
    return data


def _attributes(place: Place) -> ExtraAttributes:
    if not isinstance(place.node, Mapping):
        raise place.wrong("must be a mapping", expected="a mapping")
    try:
        return ExtraAttributes.from_mapping(_free(place))
    except MalformedManifest:
        raise
    except MalformedInput as error:
        raise place.wrong(error.message, expected=error.expected) from None


def _free(place: Place) -> Any:
    """What stands in attributes; of a repeated key the last counts."""
    match place.node:
        case Mapping(entries=entries):
            keys = (_key(Place(key, place.path)) for key, _ in entries)
            return {key: _free(place.inside(key, value)) for key, (_, value) in zip(keys, entries, strict=True)}
        case Sequence(items=items):
            return [_free(place.item(index, item)) for index, item in enumerate(items)]
        case Scalar(value=int(value)) if not -(2**63) <= value < 2**64:
            raise place.wrong("this number needs more than 64 bits", hint="put quotes around it")
        case Scalar(value=value):
            return value
        case _:
            raise place.wrong("this does not fit into attributes")


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _is_text(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str)
