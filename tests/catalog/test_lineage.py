"""What is derived from what, as far as somebody may see it: nothing hidden is told, and every walk ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.lineage import Reach
from catalog.lineage_graph import LineageGraph, Node
from catalog.readers import OPERATOR, Reader
from catalog.roles import Role
from catalog.scopes import Scope, parse_patterns
from catalog.tokens import Authenticated
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.index_limits import LINEAGE_EDGES_MAX
from tests.catalog.lineages import put, put_many
from tests.pipeline.transform.derived import id_of

ANYBODY = Reader()


def by(account: Account, *patterns: str, scopes: frozenset[Scope] = frozenset(Scope)) -> Reader:
    """Somebody with a token."""
    return Reader(Authenticated(account, scopes, parse_patterns(patterns)))


async def around(catalog: Catalog, name: str, reader: Reader = ANYBODY, **reach: int) -> LineageGraph:
    start = Node(id_of(name), DatasetAlias.from_text(f"alice/{name}"))
    return await catalog.lineage.around(start, reader, Reach(**reach))


def up(graph: LineageGraph) -> str:
    return " ".join(f"{each.depth}:{each.node.alias or each.node.called}" for each in graph.upstream())


def down(graph: LineageGraph) -> str:
    return " ".join(f"{each.depth}:{each.node.alias or each.node.called}" for each in graph.downstream())


async def test_inputs_and_derivatives_are_followed_as_far_as_there_are_any(catalog: Catalog, alice: Account) -> None:
    for name, inputs in {"a": "", "b": "a", "c": "ab", "d": "c"}.items():
        await put(catalog, alice, name, inputs)
    graph = await around(catalog, "c")
    assert up(graph) == "1:alice/a 1:alice/b 2:alice/a"
    assert (down(graph), graph.is_cut) == ("1:alice/d", False)
    assert {edge.called for edge in graph.edges} == {"the a", "the b", "the c"}
    assert graph.nodes[id_of("a")].kind == "root"


async def test_other_inputs_of_what_is_derived_are_not_told(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "a")
    await put(catalog, alice, "other")
    await put(catalog, alice, "b", ["a", "other"])
    assert {node.alias for node in (await around(catalog, "a")).nodes.values()} == {
        DatasetAlias.from_text("alice/a"),
        DatasetAlias.from_text("alice/b"),
    }


@pytest.fixture
async def secret(catalog: Catalog, alice: Account) -> None:
    """root → hidden → shown → behind, and root → shown."""
    await put(catalog, alice, "root", visibility=Visibility.PRIVATE)
    await put(catalog, alice, "hidden", ["root"], visibility=Visibility.PRIVATE)
    await put(catalog, alice, "shown", ["hidden", "absent"])
    await put(catalog, alice, "quiet", ["shown"], visibility=Visibility.UNLISTED)


@pytest.mark.usefixtures("secret")
async def test_a_hidden_input_is_told_as_one_that_is_not_here(catalog: Catalog) -> None:
    graph = await around(catalog, "shown")
    hidden, absent = graph.nodes[id_of("hidden")], graph.nodes[id_of("absent")]
    assert (hidden.alias, hidden.kind, hidden.head, hidden.called) == (None, None, None, "the hidden")
    assert (absent.alias, absent.kind, absent.head, absent.called) == (None, None, None, "the absent")
    assert up(graph) == "1:the hidden 1:the absent"


@pytest.mark.usefixtures("secret")
async def test_a_hidden_derivative_is_not_told(catalog: Catalog, alice: Account, bob: Account) -> None:
    for reader in (ANYBODY, by(bob)):
        assert down(await around(catalog, "shown", reader)) == ""
    assert down(await around(catalog, "shown", by(alice))) == "1:alice/quiet"


@pytest.mark.usefixtures("secret")
async def test_owners_operators_and_who_has_a_role_see_more(catalog: Catalog, alice: Account, bob: Account) -> None:
    await catalog.roles.grant(id_of("hidden"), bob, Role.READER)
    whole = "1:alice/hidden 2:alice/root 1:the absent"
    assert up(await around(catalog, "shown", by(alice))) == up(await around(catalog, "shown", OPERATOR)) == whole
    assert up(await around(catalog, "shown", by(bob))) == "1:alice/hidden 2:the root 1:the absent"


@pytest.mark.usefixtures("secret")
async def test_a_token_shows_no_more_than_it_is_good_for(catalog: Catalog, alice: Account) -> None:
    bound = "1:alice/hidden 2:the root 1:the absent"
    assert up(await around(catalog, "shown", by(alice, "alice/hid*"))) == bound
    for_accounts = by(alice, scopes=frozenset({Scope.ACCOUNTS_MANAGE}))
    assert up(await around(catalog, "shown", for_accounts)) == "1:the hidden 1:the absent"


async def test_a_dataset_without_an_account_is_the_default_accounts(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "b", ["a"])
    alias = DatasetAlias.from_text("a")
    await put(catalog, alice, "a", visibility=Visibility.PRIVATE)
    await catalog.datasets.put(DatasetRecord(id_of("a"), alias, alice.id, Visibility.PRIVATE))
    bound = by(alice, "alice/a")
    assert up(await around(catalog, "b", Reader(bound.caller, default_account=alice.name))) == "1:a"


async def test_where_anonymous_callers_are_shut_out_a_token_must_reach(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "a")
    await put(catalog, alice, "b", ["a"])
    bound = by(alice, "alice/b").caller
    assert up(await around(catalog, "b", Reader(bound, anonymous=False))) == "1:the a"
    assert up(await around(catalog, "b", Reader(bound))) == "1:alice/a"


async def test_a_first_push_that_is_under_way_is_not_told(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "b", ["a"])
    pending = DatasetRecord(id_of("a"), DatasetAlias.from_text("alice/a"), alice.id, Visibility.PUBLIC)
    await catalog.datasets.put(pending)
    assert up(await around(catalog, "b", by(alice))) == "1:the a"


async def test_circles_end(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "a", ["b", "a"])
    await put(catalog, alice, "b", ["a"])
    graph = await around(catalog, "a")
    assert (len(graph.nodes), len(graph.edges), graph.is_cut) == (2, 3, False)


@pytest.mark.parametrize(("depth", "cut"), [(1, True), (2, True), (3, False)])
async def test_no_more_steps_than_wanted(catalog: Catalog, alice: Account, depth: int, *, cut: bool) -> None:
    for name, inputs in {"a": "", "b": "a", "c": "b", "d": "c"}.items():
        await put(catalog, alice, name, inputs)
    upwards, downwards = await around(catalog, "d", depth_max=depth), await around(catalog, "a", depth_max=depth)
    assert len(upwards.nodes) == len(downwards.nodes) == depth + 1
    assert upwards.is_cut is downwards.is_cut is cut


@pytest.mark.parametrize(("nodes", "cut"), [(3, True), (4, False)])
async def test_no_more_datasets_than_wanted(catalog: Catalog, alice: Account, nodes: int, *, cut: bool) -> None:
    await put(catalog, alice, "a")
    for name in "bcd":
        await put(catalog, alice, name, ["a"])
    graph = await around(catalog, "a", nodes_max=nodes)
    assert (len(graph.nodes), graph.is_cut) == (nodes, cut)
    assert down(graph).startswith("1:alice/b 1:alice/c")


async def test_of_a_thousand_derivatives_as_many_are_told_as_there_is_room_for(
    catalog: Catalog, alice: Account, tmp_path: Path
) -> None:
    await put(catalog, alice, "a")
    put_many(tmp_path / "catalog.sqlite", alice, [f"copy-{number}" for number in range(1_000)], ["a"])
    async with asyncio.timeout(10):
        graph = await around(catalog, "a")
    assert (len(graph.nodes), graph.is_cut) == (1_000, True)


async def test_edges_are_bounded_too(catalog: Catalog, alice: Account, tmp_path: Path) -> None:
    names = [str(number) for number in range(80)]
    await put(catalog, alice, "a")
    put_many(tmp_path / "catalog.sqlite", alice, names, ["a", *names])
    async with asyncio.timeout(10):
        graph = await around(catalog, "a")
    assert (len(graph.edges), graph.is_cut) == (LINEAGE_EDGES_MAX, True)


async def test_what_was_deleted_is_not_here(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "a")
    await put(catalog, alice, "b", ["a"])
    await catalog.datasets.forget(id_of("b"))
    assert down(await around(catalog, "a")) == ""
    await put(catalog, alice, "b", ["a"])
    await catalog.datasets.forget(id_of("a"))
    assert up(await around(catalog, "b")) == "1:the a"
