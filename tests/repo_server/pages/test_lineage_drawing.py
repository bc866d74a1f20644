"""Drawings of lineage: told in words and by shape, safe whatever names say, and no larger than anybody can overlook."""

from __future__ import annotations

import base64
import hashlib
import re
from xml.etree import ElementTree as ET

from catalog.lineage_graph import Edge, LineageGraph, Node
from opendatafabric.dataset_ref import DatasetAlias
from repo_server.pages.lineage_drawing import ALONE_POLICY, WORDS, Look, drawing_of, svg_alone
from tests.pipeline.transform.derived import id_of

SVG = "{http://www.w3.org/2000/svg}"


def graph() -> LineageGraph:
    """a → b → c, of which a is not here."""
    nodes = [
        Node(id_of("b"), DatasetAlias.from_text("alice/b"), "derivative"),
        Node(id_of("a"), called="<i>&a</i>"),
        Node(id_of("c"), DatasetAlias.from_text("alice/c"), "derivative"),
    ]
    return LineageGraph(id_of("b"), nodes, [Edge(id_of("a"), id_of("b")), Edge(id_of("b"), id_of("c"))])


def look(**standings: str) -> Look:
    addresses = {id_of(each): DatasetAlias.from_text(f"alice/{each}") for each in "bc"}
    return Look(
        {id_of(each): standing for each, standing in standings.items()},
        {each: f"/{address}" for each, address in addresses.items()},
        addresses,
    )


def test_each_box_says_what_it_is_and_how_it_stands() -> None:
    boxes = {box.whole_name: box for box in drawing_of(graph(), look(b="verified", c="failing")).boxes}
    assert boxes["alice/c"].said == "alice/c: derivative, verification fails"
    assert (boxes["alice/b"].path, boxes["alice/b"].is_start) == ("/alice/b", True)
    elsewhere = boxes["<i>&a</i>"]
    assert (elsewhere.path, elsewhere.standing, elsewhere.said) == (
        None, "not-here", "<i>&a</i>: dataset elsewhere, not here",
    )  # fmt: skip


def test_a_drawing_alone_is_well_formed_and_can_do_nothing() -> None:
    drawn = svg_alone(drawing_of(graph(), look(b="verified", c="failing")))
    root = ET.fromstring(drawn)
    (style,) = root.iter(f"{SVG}style")
    digest = base64.b64encode(hashlib.sha256((style.text or "").encode()).digest()).decode()
    assert f"'sha256-{digest}'" in ALONE_POLICY
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        "svg", "title", "desc", "style", "g", "a", "rect", "text", "path",
    }  # fmt: skip
    assert not any(name.startswith("on") or name == "style" for each in root.iter() for name in each.attrib)
    assert [each.get("href") for each in root.iter(f"{SVG}a")] == ["/alice/b", "/alice/c"]
    assert "<i>&a</i>" in [each.text for each in root.iter(f"{SVG}text")]


def test_every_standing_has_a_sign_of_its_own_and_words() -> None:
    signs = set()
    for standing in WORDS:
        drawn = svg_alone(drawing_of(graph(), look(b=standing)))
        box = drawn.split("<title>alice/b")[1].split("</g>")[0]
        signs.add(re.sub(r"M\S+ \S+", "", re.findall(r'class="sign" d="([^"]+)"', box)[0]))
        assert WORDS[standing] in box
    assert len(signs) == len(WORDS)


def test_what_there_is_no_room_for_is_counted() -> None:
    drawing = drawing_of(graph(), look(), nodes_max=2)
    assert (len(drawing.boxes), drawing.left_out) == (2, 1)
    assert drawing.said == "2 datasets. To the left of each stands what it is made of. Of 1 more there is a list."


def test_long_names_keep_their_ends() -> None:
    nodes = [Node(id_of("b"), DatasetAlias.from_text("b"), "root")]
    name = DatasetAlias.from_text(f"start{'x' * 60}end")
    (box,) = drawing_of(LineageGraph(id_of("b"), nodes, []), Look({}, {}, {id_of("b"): name})).boxes
    assert box.name.startswith("start")
    assert box.name.endswith("xend")
    assert (len(box.name), box.whole_name) == (29, str(name))
