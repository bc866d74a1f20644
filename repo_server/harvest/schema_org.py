"""A dataset in the words of schema.org, as search engines read them from its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from catalog.facts_of_blocks import Facts
from pipeline.query.answer_form import FileKind
from repo_server.harvest.described import Described, Input, license_url
from repo_server.moments import moment, moment_or_none
from repo_server.query.file_types import FILE_TYPES

CONTEXT: Final = "https://schema.org/"
_ESCAPED: Final = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}


def embedded(document: Mapping[str, Any]) -> str:
    """The document as JSON that may stand in a ``script`` element: it holds no tag, no comment and no entity."""
    text = orjson.dumps(document)
    for char, escape in _ESCAPED.items():
        text = text.replace(char, escape)
    return text.decode()


def schema_org_dataset(described: Described) -> dict[str, Any]:
    """The whole description."""
    return {"@context": CONTEXT, "@type": "Dataset", **properties(described), "distribution": _downloads(described)}


def properties(described: Described) -> dict[str, Any]:
    """What holds for the dataset as such, whatever its files are called."""
    dataset, facts = described.dataset, described.dataset.facts
    return told(
        {
            "@id": described.url,
            "url": described.url,
            "name": str(described.address),
            "description": described.description,
            "identifier": str(dataset.id),
            "creator": _creator(described),
            "license": license_of(facts),
            "keywords": list(facts.keywords),
            "isAccessibleForFree": True,
            "datePublished": moment_or_none(dataset.issued_at),
            "dateModified": moment(facts.updated_at),
            "temporalCoverage": None if facts.watermark is None else f"../{facts.watermark}",
            "variableMeasured": [
                {"@type": "PropertyValue", "name": each.name, "description": each.type} for each in facts.columns
            ],
            "isBasedOn": [_input(each) for each in described.inputs],
            "version": str(facts.head),
        }
    )


def told(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say something."""
    return {name: value for name, value in values.items() if value is not None and value != []}


def license_of(facts: Facts) -> Any:
    """The address of the licence, or else what it is called."""
    if facts.license is None:
        return None
    return license_url(facts.license) or {"@type": "CreativeWork", "name": facts.license.name}


def _creator(described: Described) -> dict[str, Any]:
    return told({"@type": "Organization", "name": described.dataset.owner, "url": described.owner_url})


def _input(each: Input) -> dict[str, Any]:
    return told({"@type": "CreativeWork", "name": each.name, "identifier": each.id, "url": each.url})


def _downloads(described: Described) -> list[dict[str, Any]]:
    return [
        {
            "@type": "DataDownload",
            "name": f"All records as {kind.name}",
            "contentUrl": described.file_url(kind),
            "encodingFormat": FILE_TYPES[kind].partition(";")[0],
            **(_of_slice(described) if kind is FileKind.PARQUET else {}),
        }
        for kind in FileKind
    ]


def _of_slice(described: Described) -> dict[str, Any]:
    """Schema.org has a property for SHA-256 alone; the hash here is SHA3-256, and says so itself."""
    only = described.only_slice
    if only is None:
        return {}
    physical = {"@type": "PropertyValue", "propertyID": "multihash", "value": str(only.physical_hash)}
    return {"contentSize": f"{only.size} B", "identifier": physical}
