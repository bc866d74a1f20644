"""The lineage of a dataset as its caller may see it, and how the datasets in it stand."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.lineage import Reach
from catalog.lineage_graph import LineageGraph, Node
from catalog.readers import Reader
from catalog.reports import Reports
from opendatafabric.did import DatasetId
from repo_server.gate import Visit
from repo_server.identity import Caller
from repo_server.pages.addresses import address_of
from repo_server.pages.frame import frame_at
from repo_server.pages.lineage_drawing import Look
from repo_server.services import Services
from verify.standing import standing_of


async def lineage_of(found: Visit, reach: Reach) -> LineageGraph:
    """As far as ``reach``, of a chain that is read up to its head if that takes no time."""
    entry, catalog = found.dataset.entry, found.services.catalog
    facts = await found.services.indexing.facts_of(entry.id, entry.dataset)
    kind, head = (None, None) if facts is None else (facts.kind, facts.head)
    return await catalog.lineage.around(
        Node(entry.id, entry.alias, kind, head), reader_of(found.services, found.caller), reach
    )


async def look_of(services: Services, graph: LineageGraph) -> Look:
    """How the datasets of the graph are shown, to whom it was made for."""
    addresses = {
        node.dataset_id: address_of(services.settings, node.alias)
        for node in graph.nodes.values()
        if node.alias is not None
    }
    root = frame_at(services.base_url).root
    paths = {dataset_id: f"{root}/{address}" for dataset_id, address in addresses.items()}
    return Look(await standings_in(graph, services.catalog.reports), paths, addresses)


async def standings_in(graph: LineageGraph, reports: Reports) -> Mapping[DatasetId, str]:
    """How those stand that are here."""
    here = {dataset_id: node for dataset_id, node in graph.nodes.items() if node.is_here}
    last = await reports.last_of_each(here)
    return {dataset_id: standing_of(last.get(dataset_id), node.head).value for dataset_id, node in here.items()}


def reader_of(services: Services, caller: Caller) -> Reader:
    """Who looks at many datasets at once."""
    settings = services.settings
    account = services.directory.default_account
    return Reader(caller.authenticated, anonymous=settings.anonymous_access, default_account=account)
