"""The catalogue in DCAT, as another reader of RDF takes it in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import orjson
from rdflib import DCAT, DCTERMS, FOAF, RDF, XSD, Graph, Literal, Namespace, URIRef

from repo_server.harvest.dcat import catalogue
from repo_server.harvest.described import Described
from tests.repo_server.harvest.samples import BASE, HERE, LICENSE, described, read, text

HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")
CATALOGUE = URIRef(f"{BASE}/catalog.jsonld")
WATERMARK = "2024-02-03T00:00:00Z"


async def batches(*told: Sequence[Described]) -> AsyncIterator[Sequence[Described]]:
    for each in told:
        yield each


async def made(*told: Sequence[Described], **more: object) -> bytes:
    pieces = catalogue(BASE, batches(*told), total=sum(map(len, told)), **more)  # type: ignore[arg-type]
    return b"".join([piece async for piece in pieces])


async def graph_of(*told: Sequence[Described]) -> Graph:
    return read(await made(*told))


async def test_every_dataset_of_every_batch_is_in_the_catalogue() -> None:
    graph = await graph_of([described(), described(address="alice/rain")], [], [described(address="bob/sun")])
    assert (CATALOGUE, RDF.type, DCAT.Catalog) in graph
    found = {str(each) for each in graph.objects(CATALOGUE, DCAT.dataset)}
    assert found == {f"{BASE}/alice/weather", f"{BASE}/alice/rain", f"{BASE}/bob/sun"}
    assert (CATALOGUE, HYDRA.totalItems, Literal(3)) in graph


async def test_an_empty_catalogue_is_one() -> None:
    graph = await graph_of()
    assert (CATALOGUE, RDF.type, DCAT.Catalog) in graph
    assert not list(graph.objects(CATALOGUE, DCAT.dataset))


async def test_a_dataset_has_what_dcat_asks_for() -> None:
    told = described(description="Days", keywords=("rain",), license=LICENSE, watermark=WATERMARK)
    graph = await graph_of([told])
    assert (HERE, RDF.type, DCAT.Dataset) in graph
    assert text(graph, HERE, DCTERMS.title) == "alice/weather"
    assert text(graph, HERE, DCTERMS.description) == "Days"
    assert list(graph.objects(HERE, DCTERMS.license)) == [URIRef("https://example.org/by")]
    assert list(graph.objects(HERE, DCAT.keyword)) == [Literal("rain")]
    modified = Literal("1970-01-02T00:00:00Z", datatype=XSD.dateTime)
    assert list(graph.objects(HERE, DCTERMS.modified)) == [modified]
    period = next(graph.objects(HERE, DCTERMS.temporal))
    assert list(graph.objects(period, DCAT.endDate)) == [Literal(WATERMARK, datatype=XSD.dateTime)]
    publisher = next(graph.objects(HERE, DCTERMS.publisher))
    assert text(graph, publisher, FOAF.name) == "alice"


async def test_every_distribution_can_be_downloaded_and_says_what_it_is() -> None:
    graph = await graph_of([described()])
    kinds = {}
    for each in graph.objects(HERE, DCAT.distribution):
        assert (each, RDF.type, DCAT.Distribution) in graph
        kinds[text(graph, each, DCAT.downloadURL)] = text(graph, each, DCAT.mediaType).partition("media-types/")[2]
    assert kinds[f"{BASE}/alice/weather/data.csv"] == "text/csv"
    assert len(kinds) == 4


async def test_a_page_says_which_one_it_is() -> None:
    told = orjson.loads(await made([described()], view={"@id": f"{BASE}/x", "hydra:next": {"@id": f"{BASE}/y"}}))
    assert told["hydra:view"]["hydra:next"] == {"@id": f"{BASE}/y"}
