"""The launcher of the JVM: its command, and what becomes of a JVM that dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import EngineDied, EngineUnavailable
from pipeline.java import Java
from pipeline.jvm import JvmOptions, archive_name, jvm_command, spark_home, start_jvm

HEAP = 512 * 1024**2


def plant_java(path: Path, script: str) -> Java:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Java(path, 17, "17.0.1")


def test_a_jvm_that_dies_twice_says_so_in_its_own_words(tmp_path: Path, java_and_pyspark: None) -> None:
    java = plant_java(tmp_path / "java", f"echo start >> {tmp_path}/starts; echo out of luck >&2; exit 3")
    with pytest.raises(EngineDied, match="code 3 at its start: out of luck"):
        start_jvm(java, JvmOptions(tmp_path, HEAP))
    assert (tmp_path / "starts").read_text() == "start\nstart\n"


def test_a_jvm_that_died_once_is_started_again(tmp_path: Path, java_and_pyspark: None) -> None:
    answer = r"printf '\0\0\1\2\0\0\0\3abc' > $_PYSPARK_DRIVER_CONN_INFO_PATH; cat"
    java = plant_java(
        tmp_path / "java", f"if [ -e {tmp_path}/again ]; then {answer}; else touch {tmp_path}/again; exit 1; fi"
    )
    jvm = start_jvm(java, JvmOptions(tmp_path, HEAP))
    assert (jvm.port, jvm.secret) == (258, "abc")
    jvm.stop()
    assert jvm.process.returncode == 0


def test_a_jvm_that_does_not_end_by_itself_is_killed(tmp_path: Path, java_and_pyspark: None) -> None:
    answer = r"printf '\0\0\1\2\0\0\0\3abc' > $_PYSPARK_DRIVER_CONN_INFO_PATH; exec sleep 100"
    jvm = start_jvm(plant_java(tmp_path / "java", answer), JvmOptions(tmp_path, HEAP))
    jvm.stop(wait_s=0.1)
    assert jvm.process.returncode == -9


def test_the_jvm_sees_nothing_of_the_environment(
    tmp_path: Path, java_and_pyspark: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "of the operator")
    with pytest.raises(EngineDied) as raised:
        start_jvm(plant_java(tmp_path / "java", "env; exit 1"), JvmOptions(tmp_path, HEAP))
    assert "TZ=UTC" in raised.value.message
    assert "of the operator" not in raised.value.message


def test_without_pyspark_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineUnavailable) as raised:
        spark_home()
    assert "odf-repository[spark]" in str(raised.value.hint)


@pytest.mark.parametrize(("major", "expected"), [(17, False), (25, True)])
def test_options_that_only_newer_javas_know_go_to_those_alone(tmp_path: Path, major: int, expected: bool) -> None:
    command = jvm_command(Java(Path("java"), major, str(major)), JvmOptions(tmp_path, HEAP), tmp_path)
    assert ("--sun-misc-unsafe-memory-access=allow" in command) == expected


def test_an_archive_of_classes_is_made_once_and_used_then(tmp_path: Path) -> None:
    java, archive = Java(Path("java"), 17, "17"), tmp_path / "classes.jsa"
    making = jvm_command(java, JvmOptions(tmp_path, HEAP, archive), tmp_path)
    assert [option for option in making if option.startswith("-XX:ArchiveClassesAtExit=")]
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in jvm_command(java, JvmOptions(tmp_path, HEAP, archive), tmp_path)


def test_another_java_has_another_archive(java_and_pyspark: None) -> None:
    names = {archive_name(Java(Path("java"), 17, version)) for version in ("17.0.1", "17.0.2")}
    assert len(names) == 2
