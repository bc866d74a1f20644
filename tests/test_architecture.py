"""The floors hold, and what import-linter cannot see: who reads the environment, whose module has which name."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.for_every import for_every
from tests.source_tree import FLOORS, ROOT, python_files, text_of, tree_of

VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "misc", "base"}
ENVIRONMENT_READERS = {
    Path("repo_server/config.py"): "the settings of the server",
    Path("odf_client/cache.py"): "where the cache lies (XDG_CACHE_HOME)",
    Path("sync/credentials.py"): "where the token file lies (XDG_CONFIG_HOME)",
}
WHOLE_TREE = for_every(python_files(*FLOORS))


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Each imported module and whether the import stands inside a function."""
    tree = tree_of(path)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in inside


@pytest.mark.slow  # `make lint` asks the same
def test_every_floor_imports_only_downward_and_each_library_has_its_home() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@WHOLE_TREE
def test_no_module_has_a_name_that_says_nothing(path: Path) -> None:
    assert path.stem not in VAGUE_NAMES
    assert path.parent.name not in VAGUE_NAMES


@WHOLE_TREE
def test_every_module_opens_with_what_it_is_for(path: Path) -> None:
    text = text_of(path)
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"{path} has no module docstring"


@WHOLE_TREE
def test_only_the_settings_read_the_environment(path: Path) -> None:
    if path in ENVIRONMENT_READERS:
        return
    names = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    assert not names & {"os.environ", "os.getenv", "os.environb", "os.putenv"}


@for_every(python_files("opendatafabric"))
def test_the_format_has_no_coroutines_and_opens_no_files(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{path}:{node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input", "eval", "exec"}, f"{path}:{node.lineno}"


@for_every(python_files("repo_server"))
def test_the_server_never_reaches_spark(path: Path) -> None:
    assert not [module for module, _ in imports_of(path) if module.split(".")[0] == "pyspark"]


def test_hashing_blocks_does_not_wait_for_the_server_or_for_arrow() -> None:
    probe = (
        "import sys; from cli.main import build_app; build_app(['block']); "
        "print([m for m in ('aiohttp', 'pyarrow', 'sqlalchemy', 'asyncio', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_server_does_not_wait_for_pandas() -> None:
    probe = "import sys, repo_server.app, verify.worker; print('pandas' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", probe], cwd=ROOT, text=True) == "False\n"


def test_commands_for_data_load_no_database_code() -> None:
    probe = "import sys, cli.commands.ingest; print('sqlalchemy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", probe], cwd=ROOT, text=True) == "False\n"
