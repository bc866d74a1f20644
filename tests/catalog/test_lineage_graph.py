"""A graph of datasets is told as trees, each dataset gone behind once, whatever the shape."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from catalog.lineage_graph import Branch, Edge, LineageGraph, Node, nearest
from opendatafabric.dataset_ref import DatasetAlias
from tests.pipeline.transform.derived import id_of


def graph_of(start: str, **inputs: str) -> LineageGraph:
    """Datasets of one letter, and those of their inputs, seen from ``start``; capital ones are not here."""
    names = dict.fromkeys([*inputs, *"".join(inputs.values())])
    nodes = [Node(id_of(each), None if each.isupper() else DatasetAlias.from_text(each), called=each) for each in names]
    edges = [Edge(id_of(each), id_of(name)) for name, given in inputs.items() for each in dict.fromkeys(given)]
    return LineageGraph(id_of(start), nodes, edges)


def told(branches: list[Branch]) -> str:
    """Names in their depths; ``^`` where the rest stands above."""
    return " ".join(f"{each.depth}{each.node.called}{'^' if each.is_repeated else ''}" for each in branches)


def test_inputs_and_theirs_are_upstream_and_the_other_way_downstream() -> None:
    inputs = {"a": "", "b": "a", "c": "b"}
    assert told(graph_of("c", **inputs).upstream()) == "1b 2a"
    assert told(graph_of("a", **inputs).downstream()) == "1b 2c"
    assert told(graph_of("a", **inputs).upstream()) == told(graph_of("c", **inputs).downstream()) == ""


def test_what_two_lead_to_is_named_twice_and_gone_behind_once() -> None:
    graph = graph_of("e", a="", b="a", c="b", d="b", e="cd")
    assert told(graph.upstream()) == "1c 2b 3a 1d 2b^"
    assert told(nearest(graph.upstream())) == "1c 2b 3a 1d"


def test_inputs_come_as_the_query_has_them_and_derivatives_as_datasets_do() -> None:
    names = "ahbgcfd"
    nodes = [Node(id_of(each), DatasetAlias.from_text(each), called=each) for each in names]
    graph = LineageGraph(id_of("a"), nodes, [Edge(id_of("a"), id_of(each)) for each in "bcdfgh"])
    assert told(graph.downstream()) == "1h 1b 1g 1c 1f 1d"
    graph = LineageGraph(id_of("a"), nodes, [Edge(id_of(each), id_of("a")) for each in "bcdfgh"])
    assert told(graph.upstream()) == "1b 1c 1d 1f 1g 1h"


def test_a_circle_ends_where_it_began() -> None:
    graph = graph_of("a", a="b", b="a")
    assert told(graph.upstream()) == told(graph.downstream()) == "1b 2a^"


def test_what_is_not_here_says_so() -> None:
    (branch,) = graph_of("b", b="X").upstream()
    assert (branch.node.is_here, branch.node.dataset_id) == (False, id_of("X"))


def test_edges_to_what_is_not_in_the_graph_are_left_out() -> None:
    graph = LineageGraph(id_of("b"), [Node(id_of("b"))], [Edge(id_of("a"), id_of("b"))])
    assert (graph.edges, graph.upstream()) == ((), [])


def test_problems_are_told_with_the_datasets_that_have_them() -> None:
    graph = graph_of("b", a="", b="a").with_problems({id_of("a"): "damaged"})
    assert [each.node.problem for each in graph.upstream()] == ["damaged"]
    assert graph.nodes[id_of("b")].problem is None


def test_long_chains_of_datasets_end() -> None:
    ids = [id_of(str(number)) for number in range(3000)]
    edges = [Edge(*pair) for pair in pairwise(ids)]
    assert len(LineageGraph(ids[-1], map(Node, ids), edges).upstream()) == len(ids) - 1


@given(st.dictionaries(st.sampled_from("abcdefg"), st.text("abcdefg", max_size=7)))
def test_a_tree_is_no_larger_than_the_graph_and_lists_all_that_leads_to_it(inputs: dict[str, str]) -> None:
    for name in inputs:
        found = graph_of(name, **inputs).upstream()
        assert len(found) <= sum(len(set(each)) for each in inputs.values())
        reached, waiting = set[str](), [name]
        while waiting:
            for each in set(inputs.get(waiting.pop(), "")) - reached:
                reached.add(each)
                waiting.append(each)
        assert {branch.node.dataset_id for branch in found} == {id_of(each) for each in reached}


def test_distances_are_those_of_the_shortest_way() -> None:
    found = graph_of("c", a="", b="a", c="ab", d="c", e="cd").distances()
    assert found == {id_of("c"): 0, id_of("a"): -1, id_of("b"): -1, id_of("d"): 1, id_of("e"): 1}
