"""What depends on a dataset, told before it goes: to its owner, and of others' datasets only what he may see."""

from __future__ import annotations

from typing import Any

from catalog.permissions import Access
from opendatafabric.did import DatasetId
from pipeline.lineage.read_graph import read_graph
from repo_server.gate import Visit, access_of
from repo_server.moments import moment


async def plain_dependents(found: Visit) -> dict[str, Any]:
    """As plain values; every chain of the repository is looked at for its inputs, one asker after another."""
    services, entry = found.services, found.dataset.entry
    async with services.lineage:
        graph, _ = await read_graph(services.repository)
    derived = [branch.node.dataset_id for branch in graph.downstream(entry.id, depth_max=1)]
    now, terms = services.now(), services.settings.terms
    return {
        "id": str(entry.id),
        "name": str(entry.alias),
        "head": str(await entry.dataset.head()),
        "keptUntil": moment(now + terms.deleted_kept_s),
        "nameReservedUntil": moment(now + terms.names_reserved_s),
        "derivatives": [name for each in derived if (name := await _name_if_seen(found, each)) is not None],
        "belongings": await services.catalog.belongings.of(entry.id),
        "mirrors": await services.catalog.belongings.mirrors_of(entry.alias),
    }


async def _name_if_seen(found: Visit, dataset_id: DatasetId) -> str | None:
    hosted = await found.services.directory.find(dataset_id)
    if hosted is None or await access_of(found.services, hosted, found.caller) < Access.READ:
        return None
    return str(hosted.entry.alias)
