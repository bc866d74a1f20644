"""How lineage is printed: trees for people, plain values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from catalog.lineage_graph import Branch, Edge, LineageGraph, Node
from catalog.lineage_reading import Unread
from cli.output import print_json, print_line, print_note
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.metadata.transform import SqlQueryStep, Transform
from pipeline.lineage.origin import InputRead, Origin, Written
from repo_server.lineage_states import LineageNode, LineageTold
from repo_server.pages.lineage_drawing import WORDS

Standings = Mapping[DatasetId, str]

_UNTOLD: Final = frozenset({"unknown", "not-here"})
"""How most datasets stand on a repository that nobody serves."""


def print_lineage(told: LineageTold, unread: Sequence[Unread], *, depth: int | None, as_json: bool) -> None:
    """The dataset, a tree of what it is derived from and one of what is derived from it, no deeper than ``depth``."""
    if as_json:
        print_json({**told, "unread": [asdict(each) for each in unread]})
        return
    graph = graph_of(told)
    standings = {DatasetId.from_text(each["id"]): each["standing"] for each in told["nodes"]}
    print_line(_told(graph.nodes[graph.start], standings))
    _print_tree("derived from", within(graph.upstream(), depth), standings)
    _print_tree("used by", within(graph.downstream(), depth), standings)
    for each in unread:
        print_note(f"odf: {each.name} could not be read: {each.problem}")
    if graph.is_cut:
        print_note("odf: there is more beyond")


def graph_of(told: LineageTold) -> LineageGraph:
    """What was told, as a graph.

    Raises:
        MalformedIdentifier: an id or a name is none.
    """
    edges = [
        Edge(DatasetId.from_text(each["input"]), DatasetId.from_text(each["derived"]), each["calledAs"])
        for each in told["edges"]
    ]
    return LineageGraph(DatasetId.from_text(told["dataset"]), map(_node, told["nodes"]), edges, is_cut=told["cut"])


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


def within(branches: Sequence[Branch], depth: int | None) -> Sequence[Branch]:
    """Those so many steps away: what is near may be reached by longer ways too."""
    return [each for each in branches if depth is None or each.depth <= depth]


def tree_lines(branches: Sequence[Branch], standings: Standings) -> list[str]:
    """A line for each, drawn as a tree."""
    open_at: list[bool] = []
    lines: list[str] = []
    for branch in branches:
        del open_at[branch.depth - 1 :]
        trunk = "".join("│  " if is_open else "   " for is_open in open_at)
        open_at.append(not branch.is_last)
        above = "  (as above)" if branch.is_repeated else ""
        lines.append(f"{trunk}{'└─' if branch.is_last else '├─'} {_told(branch.node, standings)}{above}")
    return lines


def _print_tree(title: str, branches: Sequence[Branch], standings: Standings) -> None:
    if branches:
        print_line(f"{title}:")
        for line in tree_lines(branches, standings):
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


def _node(told: LineageNode) -> Node:
    alias = None if told["alias"] is None else DatasetAlias.from_text(told["alias"])
    return Node(DatasetId.from_text(told["id"]), alias, told["kind"], called=told["calledAs"], problem=told["problem"])


def _told(node: Node, standings: Standings) -> str:
    kind = "" if node.kind is None else f"  {node.kind.capitalize()}"
    standing = standings.get(node.dataset_id, "unknown")
    stands = "" if standing in _UNTOLD else f"  {WORDS.get(standing, standing)}"
    problem = f"  ({node.problem})" if node.problem else "" if node.is_here else "  (not in this repository)"
    called = "" if node.is_here or node.called is None else f"  as {node.called}"
    return f"{node.alias or node.dataset_id}{kind}{stands}{called}{problem}"
