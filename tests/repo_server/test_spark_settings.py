"""The settings of the Spark worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.worker_place import WorkerOptions
from repo_server.config import Settings
from repo_server.ingesting import other_sparks


def test_the_defaults_are_those_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "ODF_JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert Settings().spark_worker_options == WorkerOptions()


def test_every_setting_of_the_worker_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "ODF_SPARK_CORES": "7",
        "ODF_SPARK_HEAP_BYTES": "1000000000",
        "ODF_SPARK_MEMORY_BYTES_MAX": "3000000000",
        "ODF_SPARK_JOBS_PER_ENGINE": "5",
        "ODF_SPARK_IDLE_S": "1.5",
        "ODF_SPARK_UNSANDBOXED_FOREIGN_QUERIES": "true",
        "ODF_JAVA_HOME": "/opt/java",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert Settings().spark_worker_options == WorkerOptions(
        java_home="/opt/java",
        cores=7,
        heap_bytes=1_000_000_000,
        memory_bytes_max=3_000_000_000,
        jobs_per_engine=5,
        idle_s=1.5,
        unsandboxed_foreign_queries=True,
    )


def test_java_home_counts_and_ours_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODF_JAVA_HOME", raising=False)
    monkeypatch.setenv("JAVA_HOME", "/usr/java")
    assert Settings().spark_worker_options.java_home == "/usr/java"
    monkeypatch.setenv("ODF_JAVA_HOME", "/opt/java")
    assert Settings().spark_worker_options.java_home == "/opt/java"


def test_the_worker_lives_in_the_cache_of_its_user_or_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings().spark_worker_place == tmp_path / ".cache" / "odf" / "spark"
    monkeypatch.setenv("ODF_SPARK_PLACE", "/run/odf")
    assert Settings().spark_worker_place == Path("/run/odf")


def test_another_version_of_spark_has_a_worker_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_SPARK_ENVIRONMENTS", '{"3.5.0": "/opt/spark-3.5.0"}')
    monkeypatch.setenv("ODF_SPARK_PLACE", str(tmp_path / "spark"))
    engines = other_sparks(Settings())
    assert list(engines) == ["Spark 3.5.0"]
    with engines["Spark 3.5.0"].folders() as folders:
        assert folders.given.parent.parent == tmp_path / "spark" / "spark-3.5.0"


@pytest.mark.parametrize("version", ["", "../x", "3 5", ".hidden"])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(ValidationError, match="no version of Spark"):
        Settings(spark_environments={version: "/opt"})
