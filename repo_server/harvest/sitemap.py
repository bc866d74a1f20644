"""Sitemaps by the protocol of sitemaps.org, piece by piece, and what robots are asked to leave alone (RFC 9309)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final
from xml.sax.saxutils import escape

from repo_server.moments import moment

URLS_MAX: Final = 50_000
"""Of one sitemap; where there are more, an index leads to parts."""

PARTS_MAX: Final = 50_000
"""Of one index."""

_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_FOR_PROGRAMS: Final = (
    *("/v/", "/query", "/graphql", "/platform/", "/*/tail", "/*/data.", "/*/data/", "/*/blocks/", "/*/checkpoints/"),
    *("/*/log/", "/*/log?", "/*/events", "/*/pull", "/*/push"),
)
"""What costs work and tells search engines nothing."""

Place = tuple[str, float | None]
"""An address, and since when it is as it is, where that is known."""


async def sitemap(batches: AsyncIterator[Sequence[Place]]) -> AsyncIterator[bytes]:
    """The sitemap of all those pages."""
    yield _opening("urlset")
    async for batch in batches:
        yield _entries("url", batch)
    yield b"</urlset>\n"


def sitemap_index(parts: Iterable[str]) -> bytes:
    """The index of parts."""
    return _opening("sitemapindex") + _entries("sitemap", [(part, None) for part in parts]) + b"</sitemapindex>\n"


def robots(base_url: str, root: str, *, anonymous_access: bool) -> str:
    """What robots may look at; ``root`` is the path that the server lies below, mostly empty."""
    if not anonymous_access:
        return "User-agent: *\nDisallow: /\n"
    left_alone = "".join(f"Disallow: {root}{path}\n" for path in _FOR_PROGRAMS)
    return f"User-agent: *\n{left_alone}\nSitemap: {base_url}/sitemap.xml\n"


def _opening(name: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{_NAMESPACE}">\n'.encode()


def _entries(name: str, places: Sequence[Place]) -> bytes:
    return "".join(f"<{name}><loc>{escape(url)}</loc>{_lastmod(at)}</{name}>\n" for url, at in places).encode()


def _lastmod(at: float | None) -> str:
    return "" if at is None else f"<lastmod>{moment(at)}</lastmod>"
