"""What the tests about the tree itself share: which files are ours."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTIONS = {
    "distributions/core": ("opendatafabric", "storage", "sync"),
    ".": ("catalog", "pipeline", "verify", "repo_server", "cli"),
    "distributions/client": ("odf_client",),
}
"""Where each distribution is described, and the packages that it is made of."""
FLOORS = tuple(package for packages in DISTRIBUTIONS.values() for package in packages)


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file that git knows or would add, as paths below the root."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return tuple(Path(line) for line in listed if (ROOT / line).is_file())


@cache
def python_files(*tops: str) -> tuple[Path, ...]:
    """The Python files below the given top-level folders."""
    return tuple(path for path in tracked_files() if path.suffix == ".py" and path.parts[0] in tops)


def text_of(path: Path) -> str:
    """The text of a file named relative to the root."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of such a file, parsed once."""
    return ast.parse(text_of(path))
