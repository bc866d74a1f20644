"""``odf lineage``: trees of datasets, whatever state they are in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from catalog.lineage_graph import Branch, Edge, LineageGraph, Node
from cli.lineages import tree_lines, within
from opendatafabric.dataset_ref import DatasetAlias
from tests.cli.runner import odf
from tests.pipeline.transform.derived import id_of
from tests.source_tree import ROOT

DATASETS = ROOT / "examples" / "datasets"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weather of Seattle and what was derived from it."""
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    odf("init", tmp_path / "mine")
    for name in (WEATHER, FAHRENHEIT):
        assert odf("pull", DATASETS / name).code == 0
    return tmp_path / "mine"


def test_a_derivative_and_its_input_lead_to_each_other(mine: Path) -> None:
    up = [f"{FAHRENHEIT}  Derivative", "derived from:", f"└─ {WEATHER}  Root"]
    down = [f"{WEATHER}  Root", "used by:", f"└─ {FAHRENHEIT}  Derivative"]
    assert (odf("lineage", FAHRENHEIT).lines, odf("lineage", WEATHER).lines) == (up, down)


def test_the_graph_as_json(mine: Path) -> None:
    found: Any = odf("lineage", FAHRENHEIT, "--json").json()
    mine, weather = found["nodes"]
    assert (mine["alias"], mine["kind"], mine["problem"], mine["distance"]) == (FAHRENHEIT, "derivative", None, 0)
    assert (weather["alias"], weather["standing"], weather["distance"]) == (WEATHER, "unknown", -1)
    assert [(each["input"], each["derived"]) for each in found["edges"]] == [(weather["id"], mine["id"])]
    assert (found["dataset"], found["cut"], found["unread"]) == (mine["id"], False, [])


def test_an_input_that_is_elsewhere_is_told(tmp_path: Path) -> None:
    odf("init", tmp_path / "mine")
    odf("pull", "--repo", tmp_path / "mine", DATASETS / FAHRENHEIT)
    ran = odf("lineage", "--repo", tmp_path / "mine", FAHRENHEIT)
    assert (ran.code, len(ran.lines)) == (0, 3)
    assert ran.lines[-1].startswith("└─ did:odf:")
    assert ran.lines[-1].endswith("(not in this repository)")


def damage_head(repository: Path, name: str) -> None:
    """The newest block of a dataset is another one."""
    (head,) = [
        each for each in repository.glob("*/refs/head") if (each.parents[1] / "info/alias").read_text().strip() == name
    ]
    (head.parents[1] / "blocks" / head.read_text().strip()).write_bytes(b"damaged")


def test_a_damaged_chain_is_told_and_the_rest_shown(mine: Path) -> None:
    damage_head(mine, WEATHER)
    up = odf("lineage", FAHRENHEIT)
    assert (up.code, up.lines[:2]) == (0, [f"{FAHRENHEIT}  Derivative", "derived from:"])
    assert up.lines[2].startswith(f"└─ {WEATHER}  (")
    down = odf("lineage", WEATHER)
    assert down.lines[0].startswith(f"{WEATHER}  (")
    assert down.lines[1:] == ["used by:", f"└─ {FAHRENHEIT}  Derivative"]


def test_a_dataset_of_which_not_even_the_id_can_be_read_is_told_beside_the_rest(tmp_path: Path) -> None:
    for name in (WEATHER, FAHRENHEIT):
        shutil.copytree(DATASETS / name, tmp_path / name)
    damage_head(tmp_path, WEATHER)
    ran = odf("lineage", "--repo", tmp_path, FAHRENHEIT)
    assert (ran.code, len(ran.lines)) == (0, 3)
    assert ran.stderr.startswith(f"odf: {WEATHER} could not be read: ")
    found: Any = odf("lineage", "--repo", tmp_path, FAHRENHEIT, "--json").json()
    assert [each["name"] for each in found["unread"]] == [WEATHER]


def test_a_dataset_that_is_not_there_is_said_to_be_so(mine: Path) -> None:
    ran = odf("lineage", "nowhere")
    assert (ran.code != 0, "nowhere" in ran.stderr) == (True, True)


def test_what_a_derived_record_was_made_of(mine: Path) -> None:
    ran = odf("lineage", FAHRENHEIT, "--offset", "0")
    assert (ran.code, ran.stderr) == (0, "")
    first, block, data_slice, engine, *query = ran.lines
    assert first == f"record 0 of {FAHRENHEIT}"
    assert re.fullmatch(r"block:   \d+  f1620\w+  \S+  ExecuteTransform", block)
    assert data_slice.startswith("slice:   f1620")
    assert engine == "query:   in datafusion"
    assert query[0].startswith("         select date, temp_max * 1.8")
    assert any(re.fullmatch(rf"read of  {WEATHER} as weather: offsets 0 to \d+", line) for line in query)
    assert "engine:  not known here: the step was made elsewhere" in query


def test_what_a_derived_record_was_made_of_as_json(mine: Path) -> None:
    found: Any = odf("lineage", FAHRENHEIT, "--offset", "0", "--json").json()
    logged = {each["hash"] for each in odf("log", FAHRENHEIT, "--json").json_lines()}
    assert found["written"]["block"] in logged
    assert (found["transform"]["engine"], found["sources"], found["problem"]) == ("datafusion", [], None)
    assert found["madeBy"] is None
    (read,) = found["inputs"]
    weather = {each["hash"]: each for each in odf("log", WEATHER, "--json").json_lines()}
    assert (read["name"], read["problem"], read["toBlock"] in weather) == (WEATHER, None, True)
    for written in read["written"]:
        event: Any = weather[written["block"]]["event"]
        assert written["physicalHash"] == event["newData"]["physicalHash"]
    assert [read["offsets"][0], read["offsets"][1]] == [
        read["written"][0]["offsets"][0],
        read["written"][-1]["offsets"][1],
    ]


def test_where_a_record_of_a_root_came_from(mine: Path) -> None:
    lines = odf("lineage", WEATHER, "--offset", "1").lines
    assert lines[-1].startswith("source:  polled from file:///")


def test_a_record_that_is_not_there(mine: Path) -> None:
    ran = odf("lineage", WEATHER, "--offset", "1461")
    assert (ran.code != 0, "no record of that offset" in ran.stderr, "0 to 1460" in ran.stderr) == (True, True, True)
    assert odf("lineage", WEATHER, "--offset", "0", "--depth", "1").code != 0


def test_a_tree_is_drawn_with_its_branches() -> None:
    def branch(name: str, depth: int, *, is_last: bool, is_repeated: bool = False) -> Branch:
        return Branch(Node(id_of(name), DatasetAlias.from_text(name), "root"), depth, is_last, is_repeated)

    drawn = tree_lines(
        [
            branch("a", 1, is_last=False),
            branch("b", 2, is_last=True),
            branch("c", 1, is_last=True),
            branch("b", 2, is_last=True, is_repeated=True),
        ],
        {id_of("b"): "failing"},
    )
    assert drawn == [
        "├─ a  Root",
        "│  └─ b  Root  verification fails",
        "└─ c  Root",
        "   └─ b  Root  verification fails  (as above)",
    ]


def test_a_tree_is_no_deeper_than_was_asked_for() -> None:
    near, derived = (Node(id_of(name), DatasetAlias.from_text(name), "root") for name in ("near", "derived"))
    start = Node(id_of("start"), DatasetAlias.from_text("start"), "root")
    both_ways = [Edge(start.dataset_id, near.dataset_id, None), Edge(start.dataset_id, derived.dataset_id, None)]
    graph = LineageGraph(
        start.dataset_id, [start, near, derived], [*both_ways, Edge(near.dataset_id, derived.dataset_id, None)]
    )
    assert [(str(each.node.alias), each.depth) for each in within(graph.downstream(), 1)] == [
        ("near", 1),
        ("derived", 1),
    ]
    assert len(within(graph.downstream(), None)) == 3
