"""The compiled rows against the schema's own model."""

from __future__ import annotations

import json
from typing import Any, get_args

from opendatafabric.codec.tables import Kind, TableSpec, table_of
from opendatafabric.metadata import annotations as annotation_types
from opendatafabric.metadata import (
    attributes,
    data_schema,
    engine_messages,
    events,
    slices,
    snapshot,
    sources,
    transform,
)
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.manifest import Manifest
from tests.for_every import for_every
from tests.vectors.load import FOLDER

MODEL: dict[str, Any] = json.loads((FOLDER / "metadata-model.json").read_text())
MODULES = (*(annotation_types, attributes, data_schema, engine_messages, events, slices, snapshot, sources, transform),)
TYPES = {
    name: kind
    for module in MODULES
    for name, kind in vars(module).items()
    if isinstance(kind, type) and name in MODEL["tables"] and name != "ExtraAttributes"
} | {"MetadataBlock": MetadataBlock, "Manifest": Manifest}


@for_every(sorted(TYPES))
def test_a_type_has_the_fields_and_slots_of_the_schema(name: str) -> None:
    spec: TableSpec = table_of(TYPES[name])

    assert [(row.name, row.text_name, row.slot, row.optional) for row in spec.fields] == [
        (field["name"], field["text_name"], field["slot"], field["optional"])
        for field in MODEL["tables"][name]["fields"]
    ]


@for_every(sorted(TYPES))
def test_numbers_have_the_width_of_the_schema(name: str) -> None:
    widths = {"u32": "I", "u64": "Q", "i32": "i", "i64": "q", "i16": "h"}
    model = {
        field["name"]: widths.get(field["scalar"], "bool")
        for field in MODEL["tables"][name]["fields"]
        if field["kind"] in ("scalar", "enum")
    }

    rows = {
        row.name: row.scalar.format if row.scalar else "bool"
        for row in table_of(TYPES[name]).fields
        if row.name in model
    }

    assert rows == model


@for_every(
    [
        "MetadataEvent",
        "FetchStep",
        "ReadStep",
        "MergeStrategy",
        "DataType",
        "EventTimeSource",
        "RawQueryResponse",
        "TransformResponse",
    ]
)
def test_union_members_have_the_ids_of_the_schema(name: str) -> None:
    union = next(vars(module)[name] for module in MODULES if name in vars(module))

    assert [member.__name__ for member in get_args(union)] == [
        member["table"] for member in MODEL["unions"][name]["members"]
    ]


def test_an_event_is_a_union_over_two_slots() -> None:
    event = table_of(MetadataBlock).fields[-1]

    assert (event.kind, event.slot, event.target.name) == (Kind.UNION, 4, "MetadataEvent")
