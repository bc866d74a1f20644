"""JSON Schema (draft 2020-12) of the text form of any metadata type, for editors and for other programs' checks.

Made from the same tables as the codecs. It says what a schema can say: fields, kinds, numbers, the rough form of
hashes and times. What is accepted beyond the written form (other spellings of a kind) is part of it; what only a
parser can tell (is this the hash of anything, does this date exist) is not.
"""

from __future__ import annotations

from typing import Any, Final

from opendatafabric.codec.tables import FieldSpec, Kind, UnionSpec, enum_text, spellings, table_of, unions
from opendatafabric.codec.yaml_codec import MANIFEST_VERSIONS
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.names import HOSTNAME

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_ALIAS: Final = rf"^(?:{HOSTNAME}/)?{HOSTNAME}$"
_SIMPLE: Final[dict[Kind, dict[str, Any]]] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.STRING: {"type": "string"},
    Kind.STRINGS: {"type": "array", "items": {"type": "string"}},
    Kind.BYTES: {"type": "string", "contentEncoding": "base64"},
    Kind.INSTANT: {"type": "string", "format": "date-time"},
    Kind.HASH: {"type": "string", "pattern": "^[fFuz]", "description": "multihash in multibase, written as f1620…"},
    Kind.DATASET_ID: {"type": "string", "pattern": "^did:odf:[fFuz]"},
    Kind.DATASET_ALIAS: {"type": "string", "pattern": _ALIAS},
    Kind.DATASET_REF: {"type": "string", "anyOf": [{"pattern": "^did:odf:[fFuz]"}, {"pattern": _ALIAS}]},
    Kind.ATTRIBUTES: {"type": "object", "description": "any JSON object; keys are <domain>/<name> by convention"},
}
_NULL_REFUSED: Final = frozenset({Kind.INSTANT, Kind.BYTES})


def json_schema(kind: type) -> dict[str, Any]:
    """The schema of one metadata type, or of the union member with its ``kind``; complete in itself."""
    definitions: dict[str, Any] = {}
    return {"$schema": _DRAFT, "title": kind.__name__, **_table(kind, definitions), "$defs": definitions}


def manifest_schema(kind: str) -> dict[str, Any]:
    """The schema of a whole manifest: ``DatasetSnapshot``, ``MetadataBlock`` or ``MetadataEvent``."""
    definitions: dict[str, Any] = {}
    contents = {
        "DatasetSnapshot": lambda: _reference(DatasetSnapshot, definitions),
        "MetadataBlock": lambda: _reference(MetadataBlock, definitions),
        "MetadataEvent": lambda: _union(table_of(MetadataBlock).fields[-1].target, definitions),
    }
    fields = {"kind": {"const": kind}, "version": {"const": MANIFEST_VERSIONS[kind]}, "content": contents[kind]()}
    return {"$schema": _DRAFT, "title": f"{kind} manifest", **_object(fields, list(fields)), "$defs": definitions}


def _table(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    rows = table_of(kind).fields
    fields = {row.text_name: _optional(row, definitions) for row in rows}
    required = [row.text_name for row in rows if not row.optional]
    tag = next((union.tag_of(kind) for union in unions() if kind in union.members), None)
    if tag is not None:
        fields = {"kind": {"enum": _several_spellings(tag)}, **fields}
        required = ["kind", *required]
    return _object(fields, required)


def _object(fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def _optional(row: FieldSpec, definitions: dict[str, Any]) -> dict[str, Any]:
    schema = _value(row, definitions)
    if row.optional and row.kind not in _NULL_REFUSED:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema


def _value(row: FieldSpec, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911  one per kind
    match row.kind:
        case Kind.SCALAR if row.scalar is not None:
            return {"type": "integer", "minimum": row.scalar.minimum, "maximum": row.scalar.maximum}
        case Kind.ENUM:
            return {"enum": [text for member in row.target for text in _several_spellings(enum_text(member))]}
        case Kind.TABLE:
            return _reference(row.target, definitions)
        case Kind.TABLES:
            return {"type": "array", "items": _reference(row.target, definitions)}
        case Kind.UNION:
            return _union(row.target, definitions)
        case Kind.UNIONS:
            return {"type": "array", "items": _union(row.target, definitions)}
        case simple:
            return dict(_SIMPLE[simple])


def _union(union: UnionSpec, definitions: dict[str, Any]) -> dict[str, Any]:
    if union.name not in definitions:
        definitions[union.name] = {}
        definitions[union.name]["oneOf"] = [_reference(member, definitions) for member in union.members]
    return {"$ref": f"#/$defs/{union.name}"}


def _reference(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}
        definitions[name].update(_table(kind, definitions))
    return {"$ref": f"#/$defs/{name}"}


def _several_spellings(text: str) -> list[str]:
    return list(dict.fromkeys(spellings(text)))
