"""The documentation is complete and true: links lead somewhere, tables name everything, commands in it run.

A ``console`` block holds commands (after ``$ ``) and what they print, with ``…`` for any text. They are run against a
repository like the one ``make run`` starts. Commands that cannot run here are written in ``sh`` blocks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from cli.exit_codes import EXIT_CODES, ExitCode
from cli.main import COMMANDS
from opendatafabric import errors
from repo_server.config import Settings
from repo_server.error_table import ERROR_TYPES
from repo_server.routes import EVERY_ROUTE, Route
from tests.cli.runner import odf
from tests.cli.workers import own_worker
from tests.conftest import ExampleServer
from tests.for_every import for_every
from tests.source_tree import ROOT, text_of, tracked_files
from tools.errors_page import families
from tools.errors_page import page as errors_page
from tools.limits_page import page as limits_page

PAGES = [path for path in tracked_files() if path.suffix == ".md" and not path.is_relative_to("tests/vectors")]
REFERENCE = Path("docs/reference")


def blocks(path: Path, language: str) -> list[tuple[str, str]]:
    """The fenced blocks of a language: what follows it on the line of the fence, and the contents."""
    return re.findall(rf"^```{language}\b[ ]*([^\n]*)\n(.*?)^```", text_of(path), re.MULTILINE | re.DOTALL)


TUTORIALS = [path for path in PAGES if blocks(path, "console")]


@for_every(PAGES)
def test_every_link_to_a_page_leads_to_one(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text_of(page))
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert not [target for target in local if not (ROOT / page.parent / target).exists()]


@for_every(PAGES)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text_of(page))
    assert not [name for file, name in named if f"def {name}(" not in text_of(Path(file))]


@for_every([page for page in PAGES if page.parts[0] == "docs"])
def test_every_page_can_be_reached_from_the_start(page: Path) -> None:
    seen, queue = set[Path](), [Path("README.md"), Path("docs/index.md")]
    while queue:
        here = queue.pop()
        if here in seen or not (ROOT / here).is_file() or here.suffix != ".md":
            continue
        seen.add(here)
        targets = re.findall(r"\]\(([^)#\s]+)", text_of(here))
        queue.extend(Path(os.path.normpath(here.parent / target)) for target in targets if "://" not in target)
    assert page in seen


@for_every(families(), ids=lambda family: family.code)
def test_every_error_code_says_what_it_means_and_what_to_do(family: type[errors.OdfError]) -> None:
    assert family.code in ERROR_TYPES, f"add {family.code} to repo_server/error_table.py"


def test_the_page_of_errors_is_that_of_the_table() -> None:
    assert text_of(REFERENCE / "errors.md") == errors_page(), "run .venv/bin/python -m tools.errors_page"


def test_the_page_of_limits_is_that_of_the_code() -> None:
    assert text_of(REFERENCE / "limits.md") == limits_page(), "run .venv/bin/python -m tools.limits_page"


def test_every_exit_code_is_documented() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", text_of(REFERENCE / "exit-codes.md"), re.MULTILINE))
    assert rows == {str(int(code)): code.name for code in ExitCode}
    assert set(EXIT_CODES.values()) <= set(ExitCode)


@for_every(Settings.model_fields)
def test_every_setting_is_documented(name: str) -> None:
    assert f"`ODF_{name.upper()}`" in text_of(REFERENCE / "settings.md")


@for_every(EVERY_ROUTE, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_documented(route: Route) -> None:
    rows = [line for line in text_of(REFERENCE / "http-api.md").splitlines() if route.method in line]
    path = route.path.replace(":.*", "")
    assert any(path in row for row in rows), f"add a row for {route.method} {route.path}"


def command_lines() -> list[tuple[str, ...]]:
    """Every command and subcommand as words."""
    found: list[tuple[str, ...]] = []
    for command in COMMANDS:
        text = odf(command, "--help").stdout.decode()
        section = re.search(r"^Commands:\n((?:  .*\n?)+)", text, re.MULTILINE)
        names = re.findall(r"^  (\w[\w-]*)", section[1], re.MULTILINE) if section else []
        found.extend([(command, name) for name in names] or [(command,)])
    return found


@for_every(command_lines(), ids=" ".join)
def test_every_command_has_help_with_an_example_and_json_and_a_section(words: tuple[str, ...]) -> None:
    text = odf(*words, "--help").stdout.decode()
    assert re.search(rf"Example:\n\s+odf {' '.join(words)}", text), text
    assert "--json" in text
    section = re.search(rf"^## `odf {' '.join(words)}`\n(.*?)(?=^## |\Z)", text_of(REFERENCE / "cli.md"), re.M | re.S)
    assert section is not None, "write a section in docs/reference/cli.md"
    options = set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)) - {"--help", "--json"}
    assert not [option for option in options if f"`{option}" not in section[1]]


def matches(expected: str, printed: str) -> bool:
    """Whether ``printed`` is ``expected`` up to the places marked with an ellipsis."""
    parts = [re.escape(part) for part in expected.strip("\n").split("…")]
    return re.fullmatch(".*".join(parts), printed.strip("\n"), re.DOTALL) is not None


@pytest.fixture
def worker(page: Path, tmp_path: Path) -> Iterator[None]:
    """A Spark worker of our own for pages that ingest or compute."""
    computes = re.search(r"^\$ odf (ingest|pull .*--system-time)", text_of(page), re.MULTILINE)
    with own_worker(tmp_path / "spark") if computes else nullcontext():
        yield


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("page", TUTORIALS, ids=str)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path, example_server: ExampleServer) -> None:
    for argument, text in blocks(page, r"\w+"):
        if argument.startswith("file="):
            (tmp_path / argument.removeprefix("file=")).write_text(text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "var").symlink_to(example_server.var)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CONFIG_HOME": str(tmp_path / "config"), "NO_COLOR": "1"}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    for _, block in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            run = command.replace("http://127.0.0.1:8080", example_server.address)
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", run], cwd=tmp_path, env=environment, capture_output=True, text=True,
                timeout=300, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            printed = (done.stdout + done.stderr).replace(example_server.address, "http://127.0.0.1:8080")
            assert matches(expected, printed), f"{command}\nshould print:\n{expected}\nprinted:\n{printed}"
