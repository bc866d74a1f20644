"""What harvesters find on a server: everything that is public, nothing else, and only when it changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from rdflib import DCAT, RDF, Namespace, URIRef
from sqlalchemy import insert

from catalog.engine import open_database
from catalog.facts_tables import dataset_facts
from catalog.tables import datasets
from catalog.visibility import Visibility
from opendatafabric.did import new_dataset_id
from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from repo_server.harvest.schema_org import CONTEXT
from repo_server.harvest.sitemap import URLS_MAX
from tests.repo_server.harvest.samples import read, text
from tests.repo_server.harvest.test_sitemap import locations
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.repo_server.pages.seen import Seen
from tests.repo_server.recorded import FAHRENHEIT, STOCKS, WEATHER, add_recorded

pytestmark = pytest.mark.slow

BROWSER = {"Accept": "text/html"}
SCHEMA = Namespace("https://schema.org/")
FEEDS = ("/catalog.jsonld", "/sitemap.xml", "/alice/open/croissant.json")


@pytest.fixture
async def three(tmp_path: Path) -> AsyncIterator[Hosted]:
    """A server with a dataset of each visibility, which is read already."""
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as server:
        for number, (name, visibility) in enumerate(
            (("open", Visibility.PUBLIC), ("listless", Visibility.UNLISTED), ("secret", Visibility.PRIVATE)), 1
        ):
            await server.add(name, a_chain(number), visibility)
            await known(server, name)
        yield server


async def known(server: Hosted, name: str) -> None:
    """Until what the chain says is known."""
    async with asyncio.timeout(60):
        while (await server.ask("GET", server.path(name), who="alice")).status != 200:
            pass


def feed(answer: Answer) -> list[str]:
    """The datasets in a catalogue or a sitemap, by their paths."""
    assert answer.status == 200, answer.text
    if answer.headers["Content-Type"] == "application/xml":
        return sorted("/".join(each.split("/")[3:]) for each in locations(answer.body, "urlset", "url"))[1:]
    graph = read(answer.body)
    return sorted("/".join(str(each).split("/")[3:]) for each in graph.subjects(RDF.type, DCAT.Dataset))


def structured(page: str) -> dict[str, Any]:
    """What a search engine reads in a page."""
    start = page.index('<script type="application/ld+json">') + len('<script type="application/ld+json">')
    told: dict[str, Any] = orjson.loads(page[start : page.index("</script>", start)])
    return told


@pytest.mark.parametrize("path", ["/catalog.jsonld", "/sitemap.xml"])
@pytest.mark.parametrize("who", [None, "alice", "root"])
async def test_only_public_datasets_are_listed_whoever_asks(three: Hosted, path: str, who: str | None) -> None:
    assert feed(await three.ask("GET", path, who=who)) == ["alice/open"]


async def test_only_public_datasets_are_described(three: Hosted) -> None:
    for name, status in (("open", 200), ("listless", 404), ("secret", 404)):
        answer = await three.ask("GET", f"/alice/{name}/croissant.json", who="alice")
        assert answer.status == status, name
        page = (await three.ask("GET", f"/alice/{name}", who="alice", headers=BROWSER)).text
        assert ("application/ld+json" in page) is (status == 200)
        assert ('content="noindex"' in page) is (status != 200)


@pytest.mark.parametrize("path", FEEDS)
async def test_what_has_not_changed_is_not_sent_again(three: Hosted, path: str) -> None:
    first = await three.ask("GET", path)
    again = await three.ask("GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    await three.catalog.datasets.set_visibility(a_chain(1).id, Visibility.UNLISTED)
    changed = await three.ask("GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert changed.status != 304


@pytest.mark.parametrize("path", FEEDS)
async def test_a_look_at_the_headers_gets_no_body(three: Hosted, path: str) -> None:
    answer = await three.ask("HEAD", path)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["ETag"]


async def test_what_is_deleted_or_hidden_is_gone_at_once(three: Hosted) -> None:
    head = (await three.ask("GET", "/alice/open/refs/head")).text
    deleted = await three.ask("DELETE", "/alice/open", who="alice", headers={"If-Match": f'"{head}"'})
    assert deleted.status == 200
    assert feed(await three.ask("GET", "/catalog.jsonld")) == feed(await three.ask("GET", "/sitemap.xml")) == []


async def test_a_catalogue_in_pages_has_each_dataset_once(three: Hosted) -> None:
    for number in (2, 3):
        await three.catalog.datasets.set_visibility(a_chain(number).id, Visibility.PUBLIC)
    path, found = "/catalog.jsonld?limit=1", list[str]()
    while path:
        answer = await three.ask("GET", path)
        found += feed(answer)
        view = orjson.loads(answer.body)["hydra:view"]
        link = answer.headers.get("Link")
        assert link == (f'<{view["hydra:next"]["@id"]}>; rel="next"' if "hydra:next" in view else None)
        path = "" if link is None else link[1:].partition(">")[0].removeprefix(three.url)
    assert sorted(found) == ["alice/listless", "alice/open", "alice/secret"]


@pytest.mark.parametrize(
    "path",
    [
        "/catalog.jsonld?limit=0",
        "/catalog.jsonld?after=nonsense",
        "/sitemap.xml?part=x",
        "/alice/open/croissant.json?a=1",
    ],
)
async def test_what_cannot_be_read_is_refused(three: Hosted, path: str) -> None:
    assert (await three.ask("GET", path)).status == 400


async def test_a_sitemap_has_the_parts_that_it_has(three: Hosted) -> None:
    assert feed(await three.ask("GET", "/sitemap.xml?part=1")) == ["alice/open"]
    assert (await three.ask("GET", "/sitemap.xml?part=2")).status == 404


async def test_robots_are_led_to_the_sitemap(server: Hosted) -> None:
    assert f"\nSitemap: {server.url}/sitemap.xml\n" in (await server.ask("GET", "/robots.txt")).text


async def test_where_nobody_looks_without_a_token_robots_are_sent_away(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, anonymous_access=False, run_worker=False) as server:
        assert (await server.ask("GET", "/robots.txt")).text.endswith("Disallow: /\n")
        assert (await server.ask("GET", "/catalog.jsonld")).status == 401
        assert (await server.ask("GET", "/sitemap.xml", who="bob")).status == 200


async def test_recorded_datasets_are_described_to_the_last_column(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as server:
        for name in (WEATHER, FAHRENHEIT, STOCKS):
            await add_recorded(server, name)
            await known(server, name)
        page = (await server.ask("GET", server.path(FAHRENHEIT), headers=BROWSER)).text
        graph, here = read(structured(page), vocabulary=CONTEXT), URIRef(server.url + server.path(FAHRENHEIT))
        source = next(graph.objects(here, SCHEMA.isBasedOn))
        assert text(graph, source, SCHEMA.url) == server.url + server.path(WEATHER)
        assert Seen(page).values("rel").count("canonical") == 1
        stocks = structured((await server.ask("GET", server.path(STOCKS), headers=BROWSER)).text)
        parquet = next(each for each in stocks["distribution"] if each["contentUrl"].endswith(".parquet"))
        sent = await server.ask("GET", f"{server.path(STOCKS)}/data/{parquet['identifier']['value']}")
        assert parquet["contentSize"] == f"{len(sent.body)} B"
        described = orjson.loads((await server.ask("GET", f"{server.path(STOCKS)}/croissant.json")).body)
        names = {each["name"] for each in described["recordSet"][0]["field"]}
        assert names == {"offset", "op", "system_time", "event_time", "symbol", "price"}


async def test_an_input_that_is_not_public_leads_nowhere(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as server:
        await add_recorded(server, WEATHER, name="hidden-away", visibility=Visibility.PRIVATE)
        await add_recorded(server, FAHRENHEIT)
        await known(server, FAHRENHEIT)
        page = (await server.ask("GET", server.path(FAHRENHEIT), who="alice", headers=BROWSER)).text
        (source,) = structured(page)["isBasedOn"]
        assert "url" not in source
        assert "hidden-away" not in orjson.dumps(source).decode()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_more_than_one_sitemap_holds_are_led_to_by_an_index(three: Hosted) -> None:
    await put_many(three, URLS_MAX)
    index = await three.ask("GET", "/sitemap.xml")
    parts = locations(index.body, "sitemapindex", "sitemap")
    sizes = [
        len(locations((await three.ask("GET", part.removeprefix(three.url))).body, "urlset", "url")) for part in parts
    ]
    assert sizes == [URLS_MAX + 1, 1]  # the start comes beside the datasets of the first part
    assert len(ElementTree.fromstring(index.body)) == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_ten_thousand_datasets_are_sent_piece_by_piece(three: Hosted) -> None:
    await put_many(three, 10_000)
    async with three.session.get(f"{three.url}/catalog.jsonld") as response:
        sizes = [len(piece) async for piece, _ in response.content.iter_chunks()]
    assert sum(sizes) > 10_000_000
    assert max(sizes) < 2_000_000


async def put_many(server: Hosted, count: int) -> None:
    """As many more public datasets in the catalog."""
    ids = [str(new_dataset_id(number.to_bytes(32, "big"))) for number in range(1_000, 1_000 + count)]
    owner, head = str(server.accounts["alice"].id), str(physical_hash(b"head"))
    rows = [
        {"id": each, "alias": f"alice/d{number}", "alias_folded": f"alice/d{number}", "owner_id": owner,
         "visibility": "public", "created_at": 1.0}
        for number, each in enumerate(ids)
    ]  # fmt: skip
    facts = [
        {"dataset_id": each, "head": head, "kind": "root", "blocks": 1, "records": 0, "bytes": 0,
         "updated_at": 1.0, "keywords": "[]", "columns": "[]", "events": "{}"}
        for each in ids
    ]  # fmt: skip
    database = open_database(server.settings.database_url)
    async with database.writing() as connection:
        await connection.execute(insert(datasets), rows)
        await connection.execute(insert(dataset_facts), facts)
    await database.close()
