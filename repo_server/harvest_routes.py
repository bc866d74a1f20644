"""Routes by which catalogues, search engines and loaders elsewhere find public datasets."""

from __future__ import annotations

from typing import Final

from catalog.permissions import Access
from repo_server.handlers import harvest
from repo_server.needs import ANYONE, UNASKED
from repo_server.route import Route

HARVEST_ROUTES: Final = (
    Route("GET", "/catalog.jsonld", harvest.get_catalogue, "all public datasets (DCAT)", ANYONE),
    Route("GET", "/sitemap.xml", harvest.get_sitemap, "the pages of public datasets, for search engines", ANYONE),
    Route("GET", "/robots.txt", harvest.get_robots, "what robots may look at", UNASKED),
)
"""Of the node."""

DESCRIPTION_ROUTES: Final = (
    Route("GET", "/croissant.json", harvest.get_croissant, "a public dataset described (Croissant)", Access.READ),
)
"""Of a dataset."""
