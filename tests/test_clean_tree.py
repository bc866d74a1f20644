"""Nothing lies in the tree that belongs to one machine or to nobody else: paths, index hosts, secrets, stray files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.source_tree import ROOT, tracked_files

FILE_BYTES_MAX = 2 * 1024 * 1024
# Written in pieces, so that this file does not find itself.
PATTERNS = {
    "a path of one machine": r"(?<![a-zA-Z0-9_./:])/(?:wor" r"k|roo" r"t|hom" r"e/[a-z]+|User" r"s)/",
    "a package index": r"(?:py" r"pi\.org|files\.python" r"hosted|registry\.npm" r"js|index" r"-url[\s=]+http)",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE " r"KEY-----",
    "a merge that was left open": r"^(?:<<<<<<" r"< |>>>>>>" r"> )",
    "a cloud key": r"\bAKI" r"A[0-9A-Z]{16}\b",
}
# The format's vectors hold paths and keys as data, and the one documented example of a token is public.
EXEMPT_FOLDERS = (Path("tests/vectors"), Path("examples/datasets"), Path("examples/sources"))
FORBIDDEN_NAMES = re.compile(r"(^|/)(\.env|\.DS_Store|id_rsa|__pycache__|.*\.(pyc|whl|sqlite|db|log|orig|rej))($|/)")


def is_text(path: Path) -> bool:
    return b"\0" not in (ROOT / path).read_bytes()[:8192]


def texts() -> list[Path]:
    return [
        path
        for path in tracked_files()
        if not any(path.is_relative_to(top) for top in EXEMPT_FOLDERS) and is_text(path)
    ]


@pytest.mark.parametrize("what", PATTERNS)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(PATTERNS[what])
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in texts()
        for number, line in enumerate((ROOT / path).read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


def test_no_stray_files_are_tracked() -> None:
    assert not [str(path) for path in tracked_files() if FORBIDDEN_NAMES.search(str(path))]


def test_no_file_is_large() -> None:
    assert not [str(path) for path in tracked_files() if (ROOT / path).stat().st_size > FILE_BYTES_MAX]


def test_the_locks_name_a_hash_for_every_package_and_no_index() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text()
        pinned = re.findall(r"^[a-z0-9][a-z0-9._-]*(?:\[[a-z,]+\])?==", text, re.MULTILINE | re.IGNORECASE)
        blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE | re.IGNORECASE)[1:]
        assert len(pinned) == len(blocks), lock.name
        assert all("--hash=sha256:" in block for block in blocks), lock.name
        assert not re.search(r"https?://", text), lock.name


def test_every_file_ends_with_a_newline_and_has_no_carriage_returns() -> None:
    bad = [
        str(path)
        for path in texts()
        if (data := (ROOT / path).read_bytes()) and (not data.endswith(b"\n") or b"\r" in data)
        if path.suffix in {".py", ".md", ".toml", ".sh", ".yaml", ".json"}
    ]
    assert not bad
