"""How lineage is printed: trees for people, plain values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.lineage_graph import Branch, LineageGraph, Node, nearest
from catalog.lineage_reading import Unread
from cli.output import print_json, print_line, print_note
from opendatafabric.metadata.transform import SqlQueryStep, Transform
from pipeline.lineage.origin import InputRead, Origin, Written


def print_graph(graph: LineageGraph, unread: Sequence[Unread], *, as_json: bool) -> None:
    """The dataset, a tree of what it is derived from and one of what is derived from it."""
    upstream, downstream = graph.upstream(), graph.downstream()
    if as_json:
        print_json(
            {
                **_plain(graph, graph.nodes[graph.start]),
                "upstream": _distinct(graph, upstream),
                "downstream": _distinct(graph, downstream),
                "cut": graph.is_cut,
                "unread": [{"name": each.name, "problem": each.problem} for each in unread],
            }
        )
        return
    print_line(_told(graph.nodes[graph.start]))
    _print_tree("derived from", upstream)
    _print_tree("used by", downstream)
    for each in unread:
        print_note(f"odf: {each.name} could not be read: {each.problem}")
    if graph.is_cut:
        print_note("odf: there is more beyond")


def print_origin(name: str, origin: Origin, *, as_json: bool) -> None:
    """Of what a record was made."""
    if as_json:
        print_json({"name": name, **origin.as_dict()})
        return
    print_line(f"record {origin.offset} of {name}")
    print_line(f"block:   {_told_written(origin.written)}")
    print_line(f"slice:   {origin.written.data_slice.physical_hash}")
    if origin.problem is not None:
        print_line(f"problem: what was in force is not known: {origin.problem}")
    for source in origin.sources:
        print_line(f"source:  {source}")
    if origin.transform is not None:
        _print_query(origin.transform.transform)
        print_line(f"engine:  {origin.made_by or 'not known here: the step was made elsewhere'}")
    for each in origin.inputs:
        _print_input(each)


def tree_lines(branches: Sequence[Branch]) -> list[str]:
    """A line for each, drawn as a tree."""
    open_at: list[bool] = []
    lines: list[str] = []
    for branch in branches:
        del open_at[branch.depth - 1 :]
        trunk = "".join("│  " if is_open else "   " for is_open in open_at)
        open_at.append(not branch.is_last)
        above = "  (as above)" if branch.is_repeated else ""
        lines.append(f"{trunk}{'└─' if branch.is_last else '├─'} {_told(branch.node)}{above}")
    return lines


def _print_tree(title: str, branches: Sequence[Branch]) -> None:
    if branches:
        print_line(f"{title}:")
        for line in tree_lines(branches):
            print_line(line)


def _print_query(transform: Transform) -> None:
    version = "" if transform.version is None else f" {transform.version}"
    print_line(f"query:   in {transform.engine}{version}")
    steps = transform.queries or (SqlQueryStep(query=transform.query or ""),)
    for step in steps:
        named = "" if step.alias is None else f"{step.alias}: "
        for number, line in enumerate(step.query.strip().splitlines()):
            print_line(f"         {'' if number else named}{line}")


def _print_input(read: InputRead) -> None:
    called = "" if read.alias is None else f" as {read.alias}"
    offsets = "nothing" if read.offsets is None else f"offsets {read.offsets.start} to {read.offsets.end}"
    problem = "" if read.problem is None else f"  ({read.problem})"
    print_line(f"read of  {read.name or read.dataset_id}{called}: {offsets}{problem}")
    for each in read.written:
        print_line(f"         {_told_written(each)}  offsets {each.offsets.start} to {each.offsets.end}")


def _told_written(written: Written) -> str:
    block = written.block
    return f"{block.sequence_number}  {block.hash}  {block.block.system_time}  {type(block.event).__name__}"


def _told(node: Node) -> str:
    kind = "" if node.kind is None else f"  {node.kind.capitalize()}"
    problem = f"  ({node.problem})" if node.problem else "" if node.is_here else "  (not in this repository)"
    return f"{node.alias or node.dataset_id}{kind}{problem}"


def _distinct(graph: LineageGraph, branches: Sequence[Branch]) -> list[Mapping[str, Any]]:
    return [{**_plain(graph, each.node), "distance": each.depth} for each in nearest(branches)]


def _plain(graph: LineageGraph, node: Node) -> Mapping[str, Any]:
    return {
        "id": str(node.dataset_id),
        "name": None if node.alias is None else str(node.alias),
        "kind": None if node.kind is None else node.kind.capitalize(),
        "inputs": [str(each) for each in graph.inputs_of(node.dataset_id)],
        "problem": node.problem if node.is_here else "not in this repository",
    }
