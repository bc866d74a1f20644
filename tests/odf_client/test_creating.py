"""A new dataset is what its manifest declares."""

from __future__ import annotations

from pathlib import Path

import pytest

import odf_client
from opendatafabric.errors import DatasetNotFound, MalformedManifest, RefConflict
from tests.source_tree import ROOT

SOURCES = ROOT / "examples" / "sources"


def test_a_dataset_is_made_in_a_folder_with_an_id_of_its_own(tmp_path: Path) -> None:
    manifest = (SOURCES / "electricity.yaml").read_text()
    one, other = (odf_client.create(manifest, tmp_path / name) for name in "ab")
    assert (one.count, one.metadata["Seed"]["datasetKind"]) == (0, "Root")
    assert one.id != other.id
    assert odf_client.open(tmp_path / "a").head == one.head


def test_where_one_is_already_nothing_is_made(tmp_path: Path) -> None:
    manifest = (SOURCES / "electricity.yaml").read_text()
    made = odf_client.create(manifest, tmp_path / "a")
    with pytest.raises(RefConflict):
        odf_client.create(manifest, tmp_path / "a")
    assert odf_client.open(tmp_path / "a").head == made.head


def test_what_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(MalformedManifest):
        odf_client.create("nonsense", tmp_path / "a")
    with pytest.raises(DatasetNotFound, match="inputs"):
        odf_client.create((SOURCES / "weather-anomalies.yaml").read_text(), tmp_path / "b")
