"""The page of what a dataset is made of and what is made of it: a drawing, and lists that say the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.lineage_graph import Branch, LineageGraph, nearest
from opendatafabric.dataset_ref import DatasetAlias
from repo_server.pages.frame import Frame
from repo_server.pages.lineage_drawing import NOT_HERE, WORDS, Look, drawing_of
from repo_server.pages.templates import render


def lineage_page(alias: DatasetAlias, graph: LineageGraph, look: Look, frame: Frame) -> str:
    """The whole page."""
    return render(
        "lineage.html",
        frame=frame,
        alias=alias,
        drawing=drawing_of(graph, look),
        words=WORDS,
        upstream=_rows(graph.upstream(), look),
        downstream=_rows(graph.downstream(), look),
        cut=graph.is_cut,
        count=len(graph.nodes),
    )


def _rows(branches: Iterable[Branch], look: Look) -> list[dict[str, Any]]:
    return [_row(each, look) for each in sorted(nearest(branches), key=lambda branch: branch.depth)]


def _row(branch: Branch, look: Look) -> dict[str, Any]:
    node = branch.node
    return {
        "name": str(look.addresses.get(node.dataset_id, node.dataset_id)),
        "path": look.paths.get(node.dataset_id),
        "kind": node.kind or "not known",
        "standing": look.standings.get(node.dataset_id, NOT_HERE),
        "steps": branch.depth,
        "called": node.called,
    }
