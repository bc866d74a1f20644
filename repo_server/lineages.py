"""The lineage of a dataset as its caller may see it."""

from __future__ import annotations

from catalog.lineage import Reach
from catalog.lineage_graph import LineageGraph, Node
from catalog.readers import Reader
from repo_server.gate import Visit
from repo_server.identity import Caller
from repo_server.services import Services


async def lineage_of(found: Visit, reach: Reach) -> LineageGraph:
    """As far as ``reach``, of a chain that is read up to its head if that takes no time."""
    entry, catalog = found.dataset.entry, found.services.catalog
    facts = await found.services.indexing.facts_of(entry.id, entry.dataset)
    kind, head = (None, None) if facts is None else (facts.kind, facts.head)
    return await catalog.lineage.around(
        Node(entry.id, entry.alias, kind, head), reader_of(found.services, found.caller), reach
    )


def reader_of(services: Services, caller: Caller) -> Reader:
    """Who looks at many datasets at once."""
    settings = services.settings
    account = services.directory.default_account
    return Reader(caller.authenticated, anonymous=settings.anonymous_access, default_account=account)
