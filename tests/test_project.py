"""The project as it is installed and run: packaging, locks, the commands of the Makefile and of CI."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.source_tree import DISTRIBUTIONS, ROOT, python_files, text_of

PROJECTS = {place: tomllib.loads((ROOT / place / "pyproject.toml").read_text()) for place in DISTRIBUTIONS}
PROJECT = PROJECTS["."]
DISTRIBUTION_OF = {
    package: PROJECTS[place]["project"]["name"] for place, packages in DISTRIBUTIONS.items() for package in packages
}
IMPORT_NAMES = {
    "ada_url": "ada-url",
    "argon2": "argon2-cffi",
    "Crypto": "pycryptodome",
    "eth_abi": "eth-abi",
    "grpc": "grpcio",
    "jwt": "pyjwt",
    "markdown_it": "markdown-it-py",
    "opentelemetry": "opentelemetry-sdk",
    "prometheus_client": "prometheus-client",
    "yaml": "pyyaml",
}
PART_OF_ANOTHER = {"botocore", "py4j", "typing_extensions"}  # of boto3, pyspark and pydantic, in the versions they pin
UNDER = {"pydantic_settings": "pydantic-settings", "ruamel": "ruamel-yaml"}


def requirement_names(lines: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", line)[0].lower() for line in lines}


def locked(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", text, re.MULTILINE | re.IGNORECASE))


def imported_libraries(packages: tuple[str, ...]) -> set[str]:
    found = set()
    for path in python_files(*packages):
        found |= set(re.findall(r"^\s*(?:from|import) ([a-zA-Z_0-9]+)", text_of(path), re.MULTILINE))
    ours = set(packages) | set(sys.stdlib_module_names)
    return {(IMPORT_NAMES | UNDER | DISTRIBUTION_OF).get(name, name).lower() for name in found if name not in ours}


@pytest.mark.parametrize("place", DISTRIBUTIONS)
def test_what_the_code_imports_is_declared_and_nothing_else(place: str) -> None:
    project = PROJECTS[place]["project"]
    declared = requirement_names(project["dependencies"])
    extras = requirement_names([line for lines in project["optional-dependencies"].values() for line in lines])
    assert imported_libraries(DISTRIBUTIONS[place]) - (extras - declared) - PART_OF_ANOTHER == declared


def test_the_distributions_of_a_version_belong_together() -> None:
    (version,) = {project["project"]["version"] for project in PROJECTS.values()}
    for place in (".", "distributions/client"):
        assert f"odf-core=={version}" in PROJECTS[place]["project"]["dependencies"]


def test_every_declared_package_is_locked() -> None:
    core, client = (PROJECTS[f"distributions/{name}"]["project"] for name in ("core", "client"))
    repository = PROJECT["project"]
    ours = {core["name"]}
    needed = requirement_names(repository["dependencies"] + core["dependencies"]) - ours
    assert needed <= set(locked("run"))
    assert requirement_names(PROJECT["dependency-groups"]["dev"]) <= set(locked("dev"))
    for extra in ("spark", "query", "otel"):
        assert requirement_names(repository["optional-dependencies"][extra]) <= set(locked(f"extra-{extra}"))
    assert requirement_names(core["optional-dependencies"]["s3"]) <= set(locked("extra-s3"))
    for extra in ("duckdb", "notebook", "pandas"):
        wanted = client["dependencies"] + core["dependencies"] + client["optional-dependencies"][extra]
        assert requirement_names(wanted) - ours <= set(locked("client"))


def test_the_sets_agree_on_every_version_so_that_one_environment_serves_for_all() -> None:
    dev = locked("dev")
    for name in ("run", "extra-s3", "extra-spark", "extra-query", "extra-otel", "client", "notebook"):
        other = locked(name)
        assert {package: dev[package] for package in other if package in dev} == {
            package: version for package, version in other.items() if package in dev
        }, name


@dataclass(frozen=True)
class Wheel:
    """What lies in it."""

    names: list[str]
    metadata: str
    entry_points: str


def built(place: str, folder: Path) -> Wheel:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT / place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        texts = {name.rpartition("/")[2]: archive.read(name).decode() for name in names if ".dist-info/" in name}
    return Wheel(names, texts["METADATA"], texts.get("entry_points.txt", ""))


@pytest.mark.parametrize("place", DISTRIBUTIONS)
def test_the_wheel_of_a_distribution_holds_its_packages_and_no_others(tmp_path: Path, place: str) -> None:
    wheel = built(place, tmp_path)
    found = {name.split("/")[0] for name in wheel.names if ".dist-info/" not in name}
    assert found == set(DISTRIBUTIONS[place])
    expected = {str(path) for path in python_files(*DISTRIBUTIONS[place])}
    assert {name for name in wheel.names if name.endswith(".py")} == expected
    assert any(name.endswith("licenses/LICENSE") for name in wheel.names)
    assert not [name for name in wheel.names if "__pycache__" in name]


def test_the_wheel_of_the_repository_has_its_pages_and_the_command(tmp_path: Path) -> None:
    wheel = built(".", tmp_path)
    assert {"repo_server/templates/frame.html", "repo_server/static/app.css"} <= set(wheel.names)
    assert "odf = cli.main:main" in wheel.entry_points


def test_the_licence_is_the_whole_of_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert len(text.splitlines()) > 190


@pytest.mark.parametrize(
    "script",
    [
        "tools/bootstrap.sh",
        "tools/boxo_node.sh",
        "tools/ipfs_node.sh",
        "tools/java.sh",
        "tools/lock.sh",
        "tools/minio_server.sh",
        "tools/s3_server.sh",
        ".ci/run",
    ],
)
def test_scripts_are_executable_and_have_no_syntax_errors(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    shell = "bash" if script == ".ci/run" else "sh"
    subprocess.run([shell, "-n", script], cwd=ROOT, check=True)


def test_ci_counts_a_skipped_test_as_a_failure() -> None:
    assert "export ODF_TESTS_NO_SKIP=1" in (ROOT / ".ci" / "run").read_text()


def test_without_a_recent_python_the_bootstrap_says_what_to_install(tmp_path: Path) -> None:
    for name in ("sh", "dirname"):
        (tmp_path / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}")
    command = ["/bin/sh", "tools/bootstrap.sh", "run"]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Python 3.11 or newer" in done.stderr


SKIPPING = "import pytest\ndef test_x():\n    pytest.skip('no part')\n"


@pytest.mark.slow
@pytest.mark.parametrize(("value", "code"), [("", 0), ("1", 1)])
def test_a_skip_fails_only_when_nothing_may_be_skipped(tmp_path: Path, value: str, code: int) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_x.py").write_text(SKIPPING)
    environment = {**os.environ, "ODF_TESTS_NO_SKIP": value, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("no part" in done.stdout) == bool(value)


GROUPED = """
import os, pathlib, pytest
@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(6))
def test_x(number):
    pathlib.Path(os.environ["PYTEST_XDIST_WORKER"]).touch()
"""


@pytest.mark.slow
def test_tests_of_one_group_share_a_process(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(GROUPED)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadgroup"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert len(list(tmp_path.glob("gw*"))) == 1


def test_the_lock_of_the_ipfs_node_names_a_hash_for_every_package_and_no_index() -> None:
    packages = json.loads((ROOT / "tests" / "ipfs" / "package-lock.json").read_text())["packages"]
    del packages[""]
    assert len(packages) > 100
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not [name for name, package in packages.items() if "integrity" not in package and "inBundle" not in package]


def javaless_copy(folder: Path, *tools: str) -> dict[str, str]:
    """A project of the Java script alone in ``folder``, and the variables of a shell without Java."""
    for name in ("tools/java.sh", "requirements/java.txt"):
        (folder / name).parent.mkdir()
        shutil.copy(ROOT / name, folder / name)
    venv.create(folder / ".venv", with_pip=False)
    (folder / "bin").mkdir()
    for name in ("sh", "dirname", "sed", "head", *tools):
        found = shutil.which(name, path=f"{ROOT}/.tools/uv/bin{os.pathsep}{os.environ['PATH']}")
        assert found is not None, name
        (folder / "bin" / name).symlink_to(found)
    kept = {name: value for name, value in os.environ.items() if name not in {"JAVA_HOME", "VIRTUAL_ENV"}}
    return {**kept, "PATH": str(folder / "bin")}


def run_java_script(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["tools/java.sh"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_without_java_the_runtime_comes_from_a_locked_wheel_and_is_found_again(tmp_path: Path) -> None:
    environment = javaless_copy(tmp_path, "uv")
    for _ in range(2):
        done = run_java_script(tmp_path, environment)
        if "could not be installed" in done.stderr:
            pytest.skip(f"no wheel of a Java runtime to be had: {done.stderr}")
        found = done.stdout.removeprefix("java: ").strip()
        assert Path(found).is_relative_to(tmp_path / ".venv")
    version = subprocess.run([found, "-version"], capture_output=True, text=True, check=True).stderr
    assert int(re.findall(r'version "(\d+)', version)[0]) >= 17
    assert (Path(found).parents[1] / "lib" / "server" / "classes.jsa").exists()


def test_without_java_and_without_a_way_to_get_it_the_script_warns_and_goes_on(tmp_path: Path) -> None:
    done = run_java_script(tmp_path, javaless_copy(tmp_path))
    assert "Spark will not start" in done.stderr
    assert done.stdout == ""
