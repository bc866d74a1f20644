"""Metadata values as what JSON and YAML are made of: dicts, lists, text and numbers, under the names of the spec.

Fields come in the order of the schema, absent ones are left out, and a member of a union says its ``kind`` first.
"""

from __future__ import annotations

import base64
from enum import Enum
from functools import cache
from typing import Any, Final

from opendatafabric.codec.tables import FieldSpec, Kind, enum_text, table_of, unions
from opendatafabric.metadata.events import UnknownEvent

_AS_IS: Final = frozenset({Kind.SCALAR, Kind.BOOL, Kind.STRING})
_NESTED: Final = frozenset({Kind.TABLE, Kind.UNION})


def to_plain(value: Any) -> dict[str, Any]:
    """Any metadata type (block, event, snapshot, schema …) ready for JSON.

    Raises:
        MalformedInput: extra attributes that are not JSON.
    """
    if isinstance(value, UnknownEvent):
        return {"kind": "UnknownEvent", "typeId": value.type_id, "reason": value.reason}
    tag = _tags().get(type(value))
    plain: dict[str, Any] = {} if tag is None else {"kind": tag}
    for field in table_of(value.__class__).fields:
        given = getattr(value, field.name)
        if given is not None:
            plain[field.text_name] = _plain(field, given)
    return plain


@cache
def _tags() -> dict[type, str]:
    return {member: union.tag_of(member) for union in unions() for member in union.members}


def _plain(field: FieldSpec, given: Any) -> Any:  # noqa: PLR0911  one per kind
    if field.kind in _AS_IS:
        return given
    if field.kind in _NESTED:
        return to_plain(given)
    match field.kind:
        case Kind.ENUM:
            return enum_text(given) if isinstance(given, Enum) else given
        case Kind.BYTES:
            return base64.b64encode(given).decode()
        case Kind.STRINGS:
            return list(given)
        case Kind.TABLES | Kind.UNIONS:
            return [to_plain(item) for item in given]
        case Kind.ATTRIBUTES:
            return given.as_mapping()
        case _:
            return str(given)
