"""The table of permissions that is written by hand has every route: what it lacks nobody asks as every caller."""

from __future__ import annotations

from collections.abc import Iterable

from repo_server.route import Route
from repo_server.routes import DATASET_ROUTES, IPFS_ROUTES, NODE_ROUTES
from tests.repo_server.permission_table import DATASET_PROBES, NODE_PROBES

HINT = "say in tests/repo_server/permission_table.py who may do it, by a request that leaves things as they are"


def names_of(routes: Iterable[Route]) -> set[str]:
    return {f"{route.method} {route.path}" for route in routes}


def test_the_table_has_every_route_and_no_others() -> None:
    assert set(DATASET_PROBES) == names_of(DATASET_ROUTES), HINT
    assert set(NODE_PROBES) == names_of((*NODE_ROUTES, *IPFS_ROUTES)), HINT
