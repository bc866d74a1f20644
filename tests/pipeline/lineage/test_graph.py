"""A graph of datasets is told as trees, each dataset gone behind once, whatever the shape."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.metadata.events import DatasetKind
from pipeline.lineage.graph import Branch, LineageGraph, Node
from tests.pipeline.transform.derived import id_of


def graph_of(**inputs: str) -> LineageGraph:
    """Datasets of one letter, and those of their inputs."""
    return LineageGraph(
        Node(id_of(name), name, DatasetKind.DERIVATIVE if each else DatasetKind.ROOT, tuple(map(id_of, each)))
        for name, each in inputs.items()
    )


def told(branches: list[Branch]) -> str:
    """Names in their depths; ``^`` where the rest stands above."""
    marks = [f"{each.depth}{each.node.name or '?'}{'^' if each.is_repeated else ''}" for each in branches]
    return " ".join(marks)


def test_inputs_and_theirs_are_upstream_and_the_other_way_downstream() -> None:
    graph = graph_of(a="", b="a", c="b")
    assert told(graph.upstream(id_of("c"))) == "1b 2a"
    assert told(graph.downstream(id_of("a"))) == "1b 2c"
    assert told(graph.upstream(id_of("a"))) == told(graph.downstream(id_of("c"))) == ""


def test_what_two_lead_to_is_named_twice_and_gone_behind_once() -> None:
    graph = graph_of(a="", b="a", c="b", d="b", e="cd")
    assert told(graph.upstream(id_of("e"))) == "1c 2b 3a 1d 2b^"


def test_a_circle_ends_where_it_began() -> None:
    graph = graph_of(a="b", b="a")
    assert told(graph.upstream(id_of("a"))) == "1b 2a^"
    assert told(graph.downstream(id_of("a"))) == "1b 2a^"


def test_an_input_used_twice_is_one_input() -> None:
    assert told(graph_of(a="", b="aa").upstream(id_of("b"))) == "1a"


def test_an_input_that_is_not_here_is_told() -> None:
    (branch,) = graph_of(b="x").upstream(id_of("b"))
    assert branch.node.as_dict() == {
        "id": str(id_of("x")), "name": None, "kind": None, "inputs": [], "problem": "not in this repository",
    }  # fmt: skip


def test_no_more_steps_than_wanted() -> None:
    graph = graph_of(a="", b="a", c="b", d="c")
    assert told(graph.upstream(id_of("d"), depth_max=2)) == "1c 2b"
    assert told(graph.downstream(id_of("a"), depth_max=1)) == "1b"


def test_long_chains_of_datasets_end() -> None:
    ids = [id_of(str(number)) for number in range(3000)]
    nodes = [Node(each, str(number), inputs=tuple(ids[number - 1 : number])) for number, each in enumerate(ids)]
    assert len(LineageGraph(nodes).upstream(ids[-1])) == len(ids) - 1


@given(st.dictionaries(st.sampled_from("abcdefg"), st.text("abcdefg", max_size=7)))
def test_a_tree_is_no_larger_than_the_graph_and_lists_all_that_leads_to_it(inputs: dict[str, str]) -> None:
    graph = graph_of(**inputs)
    for name in inputs:
        found = graph.upstream(id_of(name))
        assert len(found) <= sum(len(set(each)) for each in inputs.values())
        reached, waiting = set[str](), [name]
        while waiting:
            for each in set(inputs.get(waiting.pop(), "")) - reached:
                reached.add(each)
                waiting.append(each)
        assert {branch.node.dataset_id for branch in found} == {id_of(each) for each in reached}
