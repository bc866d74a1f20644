"""A drawing of what is made of what: boxes and lines to be put into a page, or to stand alone.

How a dataset stands is told in words and by a sign, which kind it is by the shape of its box and in words, and both by
colours only besides.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from catalog.lineage_graph import LineageGraph, Node
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from repo_server.pages.layers import HEIGHT, WIDTH, layout_of
from repo_server.pages.static_files import STYLE, text_of
from repo_server.pages.templates import render, short

NODES_DRAWN_MAX: Final = 120
"""Datasets in a drawing: nobody finds his way among more; the list beside it has all."""

_EDGES_DRAWN_MAX: Final = 400
_NAME_CHARS: Final = 29
NOT_HERE: Final = "not-here"
WORDS: Final[Mapping[str, str]] = {
    "verified": "verified",
    "failing": "verification fails",
    "stale": "older head verified",
    "unknown": "not verified",
    NOT_HERE: "not here",
}
"""How a dataset stands, in words."""

_COLOURS: Final = STYLE.partition("}")[0] + "}"
_ALONE_STYLE: Final = _COLOURS + "\n" + text_of("lineage.css")
_ALONE_HASH: Final = base64.b64encode(hashlib.sha256(_ALONE_STYLE.encode()).digest()).decode()
ALONE_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_ALONE_HASH}'"
"""Content Security Policy of a drawing that stands alone."""


@dataclass(frozen=True, slots=True)
class Look:
    """How datasets are shown: how each stands, and where the page is of those that have one, by id."""

    standings: Mapping[DatasetId, str]
    paths: Mapping[DatasetId, str]
    addresses: Mapping[DatasetId, DatasetAlias]


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """One dataset; ``standing`` is a word of ``WORDS``."""

    x: int
    y: int
    name: str
    whole_name: str
    under: str
    kind: str
    standing: str
    path: str | None
    is_start: bool

    @property
    def said(self) -> str:
        return f"{self.whole_name}: {self.kind}, {WORDS[self.standing]}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """``left_out`` is how many datasets there is no room for."""

    title: str
    boxes: list[DrawnBox]
    lines: tuple[str, ...]
    width: int
    height: int
    left_out: int
    box_width: int = WIDTH
    box_height: int = HEIGHT

    @property
    def said(self) -> str:
        more = f" Of {self.left_out} more there is a list." if self.left_out else ""
        return f"{len(self.boxes)} datasets. To the left of each stands what it is made of.{more}"


def drawing_of(graph: LineageGraph, look: Look, *, nodes_max: int = NODES_DRAWN_MAX) -> Drawing:
    """As many datasets as there is room for, the nearest first."""
    shown = dict(list(graph.nodes.items())[:nodes_max])
    drawn = [each for each in graph.edges if each.input_id in shown and each.derived_id in shown]
    pairs = [(str(each.input_id), str(each.derived_id)) for each in drawn]
    layout = layout_of([str(each) for each in shown], pairs[:_EDGES_DRAWN_MAX])
    nodes = list(shown.values())
    boxes = [_box(node, look, box.x, box.y, graph.start) for node, box in zip(nodes, layout.boxes, strict=True)]
    title = f"Lineage of {look.addresses.get(graph.start, graph.start)}"
    left_out = len(graph.nodes) - len(shown)
    return Drawing(title, boxes, tuple(layout.lines), layout.width, layout.height, left_out)


def svg_alone(drawing: Drawing) -> str:
    """The drawing as a file of its own; it follows the colours of whoever looks at it."""
    return render("lineage_alone.html", drawing=drawing, words=WORDS, alone_style=_ALONE_STYLE)


def _box(node: Node, look: Look, x: int, y: int, start: DatasetId) -> DrawnBox:
    address = look.addresses.get(node.dataset_id)
    whole_name = str(address or node.called or node.dataset_id)
    kind = (node.kind or "dataset") if node.is_here else "dataset elsewhere"
    under = kind if address is None or address.account is None else f"{address.account} · {kind}"
    return DrawnBox(
        x=x,
        y=y,
        name=_fitted(whole_name if address is None else str(address.name)),
        whole_name=whole_name,
        under=_fitted(under if node.is_here else short(node.dataset_id)),
        kind=kind,
        standing=look.standings.get(node.dataset_id, NOT_HERE),
        path=look.paths.get(node.dataset_id),
        is_start=node.dataset_id == start,
    )


def _fitted(name: str) -> str:
    """The beginning and the end: names that belong together often differ at the end."""
    if len(name) <= _NAME_CHARS:
        return name
    half = (_NAME_CHARS - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
