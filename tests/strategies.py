"""Hypothesis strategies for values of the format: any value of any metadata type, drawn from the declarations.

``blocks()`` gives whole MetadataBlocks of any event; ``values_of(kind)`` a value of one type. What the codecs must
take is drawn in full: any Unicode, any number in its range, absent and empty fields.
"""

from __future__ import annotations

import json
from enum import Enum
from functools import cache
from typing import Any

from hypothesis import strategies as st

from opendatafabric.codec.tables import FieldSpec, Kind, table_of
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeInt64, DataTypeList, DataTypeOption
from opendatafabric.metadata.events import MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.multihash import HashCodec, Multihash

U64_MAX = 2**64 - 1
ITEMS_MAX = 2

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""Any Unicode that UTF-8 can hold."""

names = st.from_regex(r"[a-zA-Z0-9]{1,8}([-.][a-zA-Z0-9]{1,8}){0,2}", fullmatch=True)
"""Names of datasets and accounts, as plain text."""

multihashes = st.builds(
    Multihash,
    st.sampled_from([HashCodec.SHA3_256, HashCodec.ARROW0_SHA3_256, HashCodec.SHA2_256]),
    st.binary(min_size=32, max_size=32),
)
dataset_ids = st.builds(DatasetId.from_public_key, st.binary(min_size=32, max_size=32))
aliases = st.builds(lambda parts: DatasetAlias.from_text("/".join(parts)), st.lists(names, min_size=1, max_size=2))


@st.composite
def instants(draw: st.DrawFn) -> Instant:
    """Any time with a year of four digits, leap seconds included."""
    year = draw(st.integers(1, 9999))
    leap = draw(st.booleans()) and draw(st.booleans())
    nanosecond = draw(st.sampled_from([0, 1, 500_000_000, 999_999_999, 123_456_000]) | st.integers(0, 999_999_999))
    second = draw(st.integers(0, 1439)) * 60 + 59 if leap else draw(st.integers(0, 86_399))
    return Instant(year, draw(st.integers(1, 365)), second, nanosecond + 1_000_000_000 * leap)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), U64_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=ITEMS_MAX) | st.dictionaries(texts, inner, max_size=ITEMS_MAX),
    max_leaves=6,
)
attributes = st.dictionaries(texts, json_values, max_size=ITEMS_MAX).map(ExtraAttributes.from_mapping)


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a metadata type."""
    fields = {row.name: st.deferred(lambda row=row: _field(row)) for row in table_of(kind).fields}  # type: ignore[misc]
    return st.builds(kind, **fields)


def events() -> st.SearchStrategy[MetadataEvent]:
    """Any of the 13 events."""
    return _field(table_of(MetadataBlock).fields[-1])


def blocks() -> st.SearchStrategy[MetadataBlock]:
    """Any block; it need not fit into any chain."""
    return values_of(MetadataBlock)


def snapshots() -> st.SearchStrategy[DatasetSnapshot]:
    """Any snapshot; no dataset need come of it."""
    return values_of(DatasetSnapshot)


def deep_schema(lists: int) -> DataSchema:
    """One column of so many lists inside each other."""
    nested: Any = DataTypeInt64()
    for level in range(lists):
        nested = DataTypeList(nested) if level % 2 else DataTypeOption(nested)
    return DataSchema((DataField("a", nested),))


def edited(data: bytes) -> st.SearchStrategy[bytes]:
    """``data`` with some of its bytes changed, cut out or put in."""

    def edit(edits: list[tuple[int, int, int]]) -> bytes:
        changed = bytearray(data)
        for place, what, value in edits:
            position = place % max(1, len(changed))
            if what == 0:
                changed[position : position + 1] = bytes([value])
            elif what == 1:
                changed[position : position + 4] = value.to_bytes(4, "little")
            elif what == 2:
                del changed[position:]
            else:
                changed[position:position] = bytes([value])
        return bytes(changed)

    small = st.tuples(st.integers(0, 1 << 20), st.sampled_from([0, 3]), st.integers(0, 255))
    word = st.tuples(st.integers(0, 1 << 20), st.just(1), st.sampled_from([0, 1, 4, 2**31, 2**32 - 1, 2**32 - 4]))
    cut = st.tuples(st.integers(0, 1 << 20), st.just(2), st.just(0))
    return st.lists(small | small | word | cut, min_size=1, max_size=4).map(edit)


def _field(row: FieldSpec) -> st.SearchStrategy[Any]:
    value = _required(row)
    return st.none() | value if row.optional else value


def _required(row: FieldSpec) -> st.SearchStrategy[Any]:
    match row.kind:
        case Kind.SCALAR if row.scalar is not None:
            low, high = row.scalar.minimum, row.scalar.maximum
            return st.sampled_from([0, 1, low, high]) | st.integers(low, high)
        case Kind.ENUM:
            kind: type[Enum] = row.target
            return st.sampled_from(kind)
        case Kind.TABLE:
            return values_of(row.target)
        case Kind.UNION:
            return st.sampled_from(row.target.members).flatmap(values_of)
        case Kind.TABLES:
            return _several(values_of(row.target))
        case Kind.UNIONS:
            return _several(st.sampled_from(row.target.members).flatmap(values_of))
        case kind_of_text:
            return _SIMPLE[kind_of_text]


def _several(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=ITEMS_MAX).map(tuple)


_SIMPLE: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.INSTANT: instants(),
    Kind.STRING: texts,
    Kind.STRINGS: _several(texts),
    Kind.HASH: multihashes,
    Kind.DATASET_ID: dataset_ids,
    Kind.DATASET_REF: dataset_ids | aliases,
    Kind.DATASET_ALIAS: aliases,
    Kind.BYTES: st.binary(max_size=20),
    Kind.ATTRIBUTES: attributes,
}


def json_of(value: ExtraAttributes) -> Any:
    """The attributes as any JSON reader has them."""
    return json.loads(value.attributes)
