"""The exported JSON Schemas: valid themselves, and of one mind with the reader."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import yaml
from hypothesis import given

from opendatafabric.codec.json_schema import json_schema, manifest_schema
from opendatafabric.codec.plain import to_plain
from opendatafabric.codec.yaml_codec import read_block_manifest
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.data_schema import DataSchema, DataTypeTimestamp
from opendatafabric.metadata.events import MetadataEvent, Seed
from opendatafabric.metadata.snapshot import DatasetSnapshot
from tests.for_every import for_every
from tests.strategies import blocks, events, snapshots
from tests.vectors.load import vectors

MANIFESTS = ("DatasetSnapshot", "MetadataBlock", "MetadataEvent")
VALIDATORS = {kind: jsonschema.Draft202012Validator(manifest_schema(kind)) for kind in MANIFESTS}


def valid(kind: str, content: Any) -> bool:
    manifest = {"kind": kind, "version": 2 if kind == "MetadataBlock" else 1, "content": content}
    return bool(VALIDATORS[kind].is_valid(manifest))


@for_every(MANIFESTS)
def test_the_schema_of_a_manifest_is_a_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(manifest_schema(kind))


@for_every([DatasetSnapshot, MetadataBlock, DataSchema, Seed, DataTypeTimestamp])
def test_the_schema_of_a_type_is_a_schema(kind: type) -> None:
    schema = json_schema(kind)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == kind.__name__


@given(blocks())
def test_any_block_fits_its_schema(block: MetadataBlock) -> None:
    assert valid("MetadataBlock", to_plain(block))


@given(events())
def test_any_event_fits_its_schema(event: MetadataEvent) -> None:
    assert valid("MetadataEvent", to_plain(event))


@given(snapshots())
def test_any_snapshot_fits_its_schema(snapshot: DatasetSnapshot) -> None:
    assert valid("DatasetSnapshot", to_plain(snapshot))


@for_every(vectors("blocks.json")[::15], ids=lambda case: case["name"])
def test_blocks_of_the_reference_fit(case: dict[str, str]) -> None:
    assert valid("MetadataBlock", to_plain(read_block_manifest(case["yaml"])))


@for_every(
    [
        case
        for case in vectors("blocks_rejected.json")
        if "/structure/unknown" in case["name"] or "-kind/" in case["name"]
    ],
    ids=lambda case: case["name"],
)
def test_what_the_reference_refuses_for_its_fields_does_not_fit(case: dict[str, str]) -> None:
    assert not VALIDATORS["MetadataBlock"].is_valid(yaml.safe_load(case["yaml"]))


def test_other_spellings_of_a_kind_fit() -> None:
    for kind in ("SetInfo", "setInfo", "setinfo"):
        assert valid("MetadataEvent", {"kind": kind})
    assert not valid("MetadataEvent", {"kind": "SETINFO"})


def test_a_recursive_type_is_said_once() -> None:
    definitions = manifest_schema("MetadataEvent")["$defs"]

    assert definitions["DataTypeList"]["properties"]["itemType"] == {"$ref": "#/$defs/DataType"}
    assert {"$ref": "#/$defs/DataTypeList"} in definitions["DataType"]["oneOf"]
