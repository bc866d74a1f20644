"""A dataset as it is described, and a reader of RDF that is not ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from rdflib import Graph, URIRef

from catalog.facts_of_blocks import ColumnFacts, Facts, LicenseFacts
from catalog.public_datasets import PublicDataset
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.multihash import physical_hash
from repo_server.harvest.described import Described
from tests.storage.chains import dataset_id

BASE: Final = "https://odf.example"
HERE: Final = URIRef(f"{BASE}/alice/weather")
LICENSE: Final = LicenseFacts("CC-BY", "Attribution", "CC-BY-4.0", "https://example.org/by")
COLUMNS: Final = (ColumnFacts("offset", "Int64"), ColumnFacts("a b/ü", "Timestamp(ms, UTC)?"))


def described(*, address: str = "alice/weather", base_url: str = BASE, **told: Any) -> Described:
    """With these facts beside the usual ones."""
    facts = Facts(physical_hash(b"head"), "root", **{"records": 7, "updated_at": 86_400.0, "columns": COLUMNS, **told})
    dataset = PublicDataset(dataset_id(), DatasetAlias.from_text("alice/weather"), "alice", 60.0, facts)
    return Described(dataset, DatasetAlias.from_text(address), base_url)


def read(document: Mapping[str, Any] | bytes, *, vocabulary: str | None = None) -> Graph:
    """The triples of JSON-LD; with ``vocabulary`` in place of a context that would have to be fetched."""
    plain = orjson.loads(document) if isinstance(document, bytes) else dict(document)
    if vocabulary is not None:
        plain["@context"] = {"@vocab": vocabulary}
    graph = Graph()
    graph.parse(data=orjson.dumps(plain).decode(), format="json-ld", base=f"{BASE}/")
    return graph


def text(graph: Graph, subject: Any, predicate: Any) -> str:
    """The only value."""
    found = list(graph.objects(subject, predicate))
    assert len(found) == 1, found
    return str(found[0])
