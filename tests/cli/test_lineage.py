"""``odf lineage``: trees of datasets, whatever state they are in."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.lineages import tree_lines
from opendatafabric.metadata.events import DatasetKind
from pipeline.lineage.graph import Branch, Node
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
    assert (found["name"], found["kind"], found["problem"]) == (FAHRENHEIT, "Derivative", None)
    (weather,) = found["upstream"]
    assert (weather["name"], weather["distance"], weather["inputs"]) == (WEATHER, 1, [])
    assert found["inputs"] == [weather["id"]]
    assert (found["downstream"], found["unread"]) == ([], [])


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


def test_a_tree_is_drawn_with_its_branches() -> None:
    def branch(name: str, depth: int, *, is_last: bool, is_repeated: bool = False) -> Branch:
        return Branch(Node(id_of(name), name, DatasetKind.ROOT), depth, is_last, is_repeated)

    drawn = tree_lines(
        [
            branch("a", 1, is_last=False),
            branch("b", 2, is_last=True),
            branch("c", 1, is_last=True),
            branch("b", 2, is_last=True, is_repeated=True),
        ]
    )
    assert drawn == ["├─ a  Root", "│  └─ b  Root", "└─ c  Root", "   └─ b  Root  (as above)"]
