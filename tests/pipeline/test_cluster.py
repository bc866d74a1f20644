"""Masters and settings of clusters, as the operator gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import MalformedInput, NotFound, UnsupportedOperation
from pipeline.cluster import check_master, cluster_settings, is_cluster
from pipeline.worker_place import WorkerOptions
from repo_server.config import Settings


def written(folder: Path, text: str) -> Path:
    file = folder / "cluster.conf"
    file.write_text(text)
    return file


@pytest.mark.parametrize("master", ["spark://10.0.0.5:7077", "k8s://https://cluster:6443"])
def test_clusters_that_take_a_driver_are_masters(master: str) -> None:
    assert is_cluster(check_master(master))


def test_this_machine_is_no_cluster() -> None:
    assert not is_cluster(check_master("local"))


@pytest.mark.parametrize("master", ["sc://127.0.0.1", "yarn", "local[4]", "mesos://a", ""])
def test_other_masters_are_refused_with_those_that_are_there(master: str) -> None:
    with pytest.raises(UnsupportedOperation) as caught:
        check_master(master)
    assert "spark://HOST:PORT" in str(caught.value.hint)


def test_why_connect_is_refused_is_said() -> None:
    with pytest.raises(UnsupportedOperation) as caught:
        check_master("sc://127.0.0.1")
    assert "shows no plans" in str(caught.value.hint)


def test_settings_are_lines_of_name_and_value(tmp_path: Path) -> None:
    file = written(tmp_path, "# of our cluster\n\nspark.driver.host  me\nspark.authenticate=true\n spark.a.b = c d \n")
    assert cluster_settings(file) == {"spark.driver.host": "me", "spark.authenticate": "true", "spark.a.b": "c d"}


@pytest.mark.parametrize("name", ["spark.sql.ansi.enabled", "spark.serializer", "spark.master", "spark.app.name"])
def test_what_changes_results_is_not_for_the_file_to_say(tmp_path: Path, name: str) -> None:
    with pytest.raises(MalformedInput, match=rf"cluster.conf:2 sets {name}"):
        cluster_settings(written(tmp_path, f"spark.driver.host me\n{name} false\n"))


def test_a_line_that_is_no_setting_is_named_without_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=r"cluster.conf:1 is no setting") as caught:
        cluster_settings(written(tmp_path, "password hunter2\n"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["missing.conf", "."])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound, match="cannot be read"):
        cluster_settings(tmp_path / name)


def test_the_settings_of_the_server_reach_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_SPARK_MASTER", "spark://10.0.0.5:7077")
    monkeypatch.setenv("ODF_SPARK_SETTINGS", str(tmp_path / "cluster.conf"))
    options = Settings().spark_worker_options
    assert (options.master, options.cluster_settings) == ("spark://10.0.0.5:7077", str(tmp_path / "cluster.conf"))


def test_a_worker_with_other_settings_of_the_cluster_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "cluster.conf"
    options = WorkerOptions(master="spark://10.0.0.5:7077", cluster_settings=str(file))
    without = options.stamp()
    written(tmp_path, "spark.driver.host me\n")
    assert options.stamp() != without
