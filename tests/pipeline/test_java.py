"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import EngineUnavailable
from pipeline.java import ask_version, find_java


def plant_java(home: Path, told: str) -> Path:
    """A program that says it is a Java."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    program.chmod(0o755)
    return program


def test_the_java_under_java_home_comes_first(tmp_path: Path) -> None:
    program = plant_java(tmp_path, 'openjdk version "21.0.4" 2024-07-16')
    found = find_java(tmp_path)
    assert (found.path, found.major, found.version) == (program, 21, "21.0.4")


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_java(tmp_path / "old", 'java version "1.8.0_392"')
    newer = plant_java(tmp_path / "new", 'openjdk version "17.0.1" 2021-10-19')
    monkeypatch.setenv("PATH", str(newer.parent))
    assert find_java(tmp_path / "old").path == newer


def test_without_java_the_error_says_what_was_looked_at_and_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = plant_java(tmp_path, 'java version "11.0.2"')
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineUnavailable) as raised:
        find_java(tmp_path)
    assert f"{old} (11.0.2)" in str(raised.value.found)
    assert "tools/java.sh" in str(raised.value.hint)


def test_what_is_no_java_has_no_version(tmp_path: Path) -> None:
    assert ask_version(plant_java(tmp_path, "hello")) is None
    assert ask_version(tmp_path / "nothing") is None
