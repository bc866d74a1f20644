"""What depends on a dataset, told before it goes: to its owner, and of others' datasets only what he may see."""

from __future__ import annotations

from typing import Any

from catalog.lineage import Reach
from repo_server.gate import Visit
from repo_server.lineages import lineage_of
from repo_server.moments import moment


async def plain_dependents(found: Visit) -> dict[str, Any]:
    """As plain values."""
    services, entry = found.services, found.dataset.entry
    graph = await lineage_of(found, Reach(depth_max=1))
    now, terms = services.now(), services.settings.terms
    return {
        "id": str(entry.id),
        "name": str(entry.alias),
        "head": str(await entry.dataset.head()),
        "keptUntil": moment(now + terms.deleted_kept_s),
        "nameReservedUntil": moment(now + terms.names_reserved_s),
        "derivatives": [str(each.node.alias) for each in graph.downstream() if each.depth == 1],
        "belongings": await services.catalog.belongings.of(entry.id),
        "mirrors": await services.catalog.belongings.mirrors_of(entry.alias),
    }
