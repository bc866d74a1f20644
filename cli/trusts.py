"""Trusted publishers of a dataset: in a repository here, or on a server."""

from __future__ import annotations

from typing import Any

from catalog.catalog import open_catalog
from catalog.publishers import Trust
from cli.catalogs import settings_for
from cli.datasets import opened_repository
from cli.server_reports import located_on_server
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import MalformedInput
from repo_server.publisher_states import plain_publisher
from sync.credentials import headers_for
from sync.server_calls import asked

KNOWN_ISSUERS = {"github": "https://token.actions.githubusercontent.com", "gitlab": "https://gitlab.com"}


def trust_of(issuer: str, claims: list[str], audience: str | None) -> Trust:
    """The trust that options tell of; claims as ``NAME=PATTERN``.

    Raises:
        MalformedInput: they are not so, or trust everybody.
    """
    pairs = [each.partition("=") for each in claims]
    if not all(sign for _, sign, _ in pairs):
        raise MalformedInput("a condition is written NAME=PATTERN", expected="repository=alice/weather")
    return Trust(KNOWN_ISSUERS.get(issuer, issuer), {name: pattern for name, _, pattern in pairs}, audience)


async def add_trust(ref: str, repository: str, trust: Trust) -> dict[str, Any]:
    """Trust those runs; the publisher, as plain values."""
    on_server = await located_on_server(ref, repository)
    if on_server is not None:
        told = {"issuer": trust.issuer, "claims": dict(trust.claims), "audience": trust.audience}
        url = _url(on_server.location)
        return await asked("POST", url, headers=headers_for(url), json=told)
    settings = settings_for(repository)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as opened:
        entry = await opened.find(parse_dataset_ref(ref))
        record = await catalog.datasets.find(entry.id)
        if record is None:
            raise MalformedInput(f"the catalog does not know {ref} yet", hint="odf reindex, or start the server once")
        return plain_publisher(await catalog.publishers.add(entry.id, record.owner_id, trust))


async def list_trusts(ref: str, repository: str) -> list[dict[str, Any]]:
    """The publishers of a dataset, as plain values."""
    on_server = await located_on_server(ref, repository)
    if on_server is not None:
        url = _url(on_server.location)
        return list((await asked("GET", url, headers=headers_for(url)))["publishers"])
    async with open_catalog(settings_for(repository).database_url) as catalog, opened_repository(repository) as opened:
        entry = await opened.find(parse_dataset_ref(ref))
        return [plain_publisher(each) for each in await catalog.publishers.of(entry.id)]


async def remove_trust(ref: str, repository: str, publisher_id: str) -> None:
    """Trust a publisher no longer."""
    on_server = await located_on_server(ref, repository)
    if on_server is not None:
        url = _url(on_server.location)
        await asked("DELETE", f"{url}/{publisher_id}", headers=headers_for(url))
        return
    async with open_catalog(settings_for(repository).database_url) as catalog, opened_repository(repository) as opened:
        entry = await opened.find(parse_dataset_ref(ref))
        await catalog.publishers.remove(entry.id, publisher_id)


def _url(location: str) -> str:
    return f"{location.rstrip('/')}/publishers"
