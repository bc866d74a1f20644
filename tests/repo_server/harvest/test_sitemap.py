"""Sitemaps, held against the rules of their schema, and what robots are told."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree

import pytest

from repo_server.harvest.sitemap import Place, robots, sitemap, sitemap_index

NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def locations(document: bytes, root: str, entry: str) -> list[str]:
    """The addresses; fails where something is that the schema does not have, or in another order."""
    tree = ElementTree.fromstring(document)
    assert tree.tag == NAMESPACE + root
    found = []
    for each in tree:
        assert each.tag == NAMESPACE + entry
        assert [child.tag.removeprefix(NAMESPACE) for child in each] in (["loc"], ["loc", "lastmod"])
        assert all(DATE.fullmatch(child.text or "") for child in each[1:])
        found.append(each[0].text or "")
    assert all(12 <= len(each) <= 2_048 and each.startswith("http") for each in found)
    return found


async def batches(*told: Sequence[Place]) -> AsyncIterator[Sequence[Place]]:
    for each in told:
        yield each


async def test_a_sitemap_has_every_place_and_when_it_changed() -> None:
    pieces = sitemap(batches([("https://a.example/", None)], [("https://a.example/x?a=1&b=2", 86_400.0)]))
    document = b"".join([piece async for piece in pieces])
    assert locations(document, "urlset", "url") == ["https://a.example/", "https://a.example/x?a=1&b=2"]
    assert b"<lastmod>1970-01-02T00:00:00Z</lastmod>" in document


def test_an_index_leads_to_its_parts() -> None:
    parts = [f"https://a.example/sitemap.xml?part={number}" for number in (1, 2)]
    assert locations(sitemap_index(parts), "sitemapindex", "sitemap") == parts


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/", True), ("/alice", True), ("/alice/weather", True), ("/v/login", False), ("/query?query=1", False)],
)
def test_robots_may_look_at_pages_and_not_at_what_costs_work(path: str, allowed: bool) -> None:
    told = RobotFileParser()
    told.parse(robots("https://a.example/odf", "", anonymous_access=True).splitlines())
    assert told.can_fetch("*", path) is allowed
    assert told.site_maps() == ["https://a.example/odf/sitemap.xml"]


def test_below_a_path_robots_are_told_that_path() -> None:
    assert "Disallow: /odf/query\n" in robots("https://a.example/odf", "/odf", anonymous_access=True)


def test_robots_have_no_business_where_nobody_may_look_without_a_token() -> None:
    assert robots("https://a.example", "", anonymous_access=False) == "User-agent: *\nDisallow: /\n"
