"""The table of routes: every route says what it needs, and there is no way around the gate that asks for it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest
from aiohttp.test_utils import make_mocked_request

import repo_server.handlers
from catalog.permissions import Access
from repo_server.app import create_app
from repo_server.config import Settings, Tenancy
from repo_server.needs import OfDataset, OfNode
from repo_server.routes import ACCOUNT_PAGE_ROUTES, DATASET_ROUTES, IPFS_ROUTES, NODE_ROUTES, PREFIXES, Route
from tests.for_every import for_every

HANDLERS: Final = sorted(Path(repo_server.handlers.__path__[0]).rglob("*.py"))
_LET_THROUGH: Final = {
    "listening",
    "CALLER",
    "VISIT",
    "Refused",
    "Visit",
    "access_of",
    "account_of_place",
    "admitted_again",
    "caller_again",
    "may_make",
}
"""What handlers may have of the gate: who was let through, and what of a dataset that caller may see besides."""

_READS_ALONE: Final = {"GET"}


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


@for_every(DATASET_ROUTES, ids=name_of)
def test_a_route_of_a_dataset_needs_access_to_it(route: Route) -> None:
    access = route.needs.access if isinstance(route.needs, OfDataset) else route.needs
    assert isinstance(access, Access)
    assert access >= (Access.READ if route.method in _READS_ALONE else Access.WRITE)


@for_every(NODE_ROUTES + ACCOUNT_PAGE_ROUTES + IPFS_ROUTES, ids=name_of)
def test_a_route_of_the_node_says_who_is_let_through(route: Route) -> None:
    assert isinstance(route.needs, OfNode)


@pytest.mark.parametrize("tenancy", Tenancy)
def test_every_route_of_the_application_asks_first(tmp_path: Path, tenancy: Tenancy) -> None:
    settings = Settings.model_validate({"repo": str(tmp_path), "tenancy": tenancy, "ipfs_provider": True})
    served = [route for route in create_app(settings).router.routes() if route.method != "HEAD"]
    of_accounts = len(ACCOUNT_PAGE_ROUTES) if tenancy is Tenancy.MULTI else 0
    declared = len(NODE_ROUTES) + len(IPFS_ROUTES) + len(DATASET_ROUTES) + of_accounts
    assert len(served) == declared
    assert {getattr(route.handler, "__qualname__", "") for route in served} == {"_admitting.<locals>.admitted"}


def test_no_route_is_declared_twice() -> None:
    places = [(route.method, route.path) for route in NODE_ROUTES + IPFS_ROUTES]
    places += [(route.method, PREFIXES[Tenancy.MULTI] + route.path) for route in DATASET_ROUTES]
    assert len(places) == len(set(places))


@for_every(HANDLERS, ids=lambda path: path.stem)
def test_no_handler_admits_around_the_gate(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "repo_server.gate"
        for alias in node.names
    }
    assert imported <= _LET_THROUGH
    asked = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not asked & {"identities", "authenticate", "check_access"}, "who calls is found out by the gate"


def test_a_request_may_need_more_than_its_route_never_less() -> None:
    request = make_mocked_request("GET", "/")
    assert OfDataset(Access.WRITE, more=lambda _: Access.READ).asked(request) is Access.WRITE
    assert OfDataset(Access.READ, more=lambda _: Access.OWN).asked(request) is Access.OWN
