"""Public datasets as a catalogue of DCAT 3 in JSON-LD, piece by piece: what stands before them, each, what follows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import orjson

from pipeline.query.answer_form import FileKind
from repo_server.harvest.described import Described, license_url
from repo_server.harvest.schema_org import told
from repo_server.moments import moment
from repo_server.query.file_types import FILE_TYPES

CONTEXT: Final = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA_TYPES: Final = "https://www.iana.org/assignments/media-types/"
_PUBLIC: Final = "http://publications.europa.eu/resource/authority/access-right/PUBLIC"


async def catalogue(
    base_url: str, batches: AsyncIterator[Sequence[Described]], *, total: int, view: dict[str, Any] | None = None
) -> AsyncIterator[bytes]:
    """The document; ``view`` says which page it is, where it does not hold all ``total`` datasets."""
    yield _beginning(base_url, total)
    comma = b""
    async for batch in batches:
        if batch:
            yield comma + await asyncio.to_thread(_datasets, batch)
            comma = b","
    yield b"]}" if view is None else b'],"hydra:view":' + orjson.dumps(view) + b"}"


def _beginning(base_url: str, total: int) -> bytes:
    home = f"{base_url}/"
    about = {
        "@context": CONTEXT,
        "@id": f"{base_url}/catalog.jsonld",
        "@type": ["dcat:Catalog", "hydra:Collection"],
        "dct:title": "Datasets",
        "dct:description": "Verifiable datasets of Open Data Fabric",
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": "ODF Repository", "foaf:homepage": {"@id": home}},
        "foaf:homepage": {"@id": home},
        "hydra:totalItems": total,
        "dcat:service": {
            "@type": "dcat:DataService",
            "dct:title": "Queries in SQL",
            "dcat:endpointURL": {"@id": f"{base_url}/query"},
            "dcat:endpointDescription": {"@id": f"{base_url}/openapi.json"},
        },
    }
    return orjson.dumps(about)[:-1] + b',"dcat:dataset":['


def _datasets(batch: Sequence[Described]) -> bytes:
    return b",".join(orjson.dumps(_dataset(each)) for each in batch)


def _dataset(described: Described) -> dict[str, Any]:
    dataset, facts = described.dataset, described.dataset.facts
    return told(
        {
            "@id": described.url,
            "@type": "dcat:Dataset",
            "dct:identifier": str(dataset.id),
            "dct:title": str(described.address),
            "dct:description": described.description,
            "dct:publisher": _owner(described),
            "dct:issued": None if dataset.issued_at is None else _time(moment(dataset.issued_at)),
            "dct:modified": _time(moment(facts.updated_at)),
            "dct:temporal": _period(facts.watermark),
            "dct:license": _license(described),
            "dct:accessRights": {"@id": _PUBLIC},
            "dcat:keyword": list(facts.keywords),
            "dcat:version": str(facts.head),
            "dcat:landingPage": {"@id": described.url},
            "dcat:distribution": [_distribution(described, kind) for kind in FileKind],
        }
    )


def _owner(described: Described) -> dict[str, Any]:
    home = None if described.owner_url is None else {"@id": described.owner_url}
    return told({"@type": "foaf:Agent", "foaf:name": described.dataset.owner, "foaf:homepage": home})


def _period(watermark: str | None) -> dict[str, Any] | None:
    """Up to when events are known; when the first of them was, no chain says."""
    return None if watermark is None else {"@type": "dct:PeriodOfTime", "dcat:endDate": _time(watermark)}


def _license(described: Described) -> dict[str, Any] | None:
    license_ = described.dataset.facts.license
    if license_ is None:
        return None
    url = license_url(license_)
    return {"@type": "dct:LicenseDocument", "dct:title": license_.name} | ({} if url is None else {"@id": url})


def _distribution(described: Described, kind: FileKind) -> dict[str, Any]:
    url, media_type = {"@id": described.file_url(kind)}, FILE_TYPES[kind].partition(";")[0]
    return {
        "@type": "dcat:Distribution",
        "dct:title": kind.name,
        "dcat:accessURL": url,
        "dcat:downloadURL": url,
        "dcat:mediaType": {"@id": f"{_MEDIA_TYPES}{media_type}"},
    }


def _time(text: str) -> dict[str, str]:
    return {"@type": "xsd:dateTime", "@value": text}
