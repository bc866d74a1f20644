"""``odf mirror`` adds, runs, shows and removes mirrors of a repository."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from storage.open import open_dataset
from sync.credentials import save_token
from tests.cli.runner import odf
from tests.repo_server.hosted import a_chain

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    odf("init", tmp_path / "repository")
    (tmp_path / "weather").mkdir()
    asyncio.run(fill(tmp_path / "weather"))
    assert odf("pull", tmp_path / "weather", "--repo", tmp_path / "repository").code == 0
    return tmp_path / "repository"


async def fill(folder: Path) -> None:
    builder, dataset = a_chain(), open_dataset(str(folder))
    await dataset.writable_objects().put_many({f"data/{name}": data for name, data in builder.slices.items()})
    await dataset.append(builder.blocks, expected_head=None)


def test_a_mirror_is_added_run_shown_and_removed(repository: Path, tmp_path: Path) -> None:
    added = odf("mirror", "add", f"file://{tmp_path}/mirror/", "--push", "%", "--repo", repository)
    assert (added.code, added.lines) == (0, ["mirror 1"])
    ran = odf("mirror", "run", 1, "--repo", repository)
    assert (ran.code, ran.lines) == (0, ["mirror 1: up to date"])
    assert asyncio.run(open_dataset(f"{tmp_path}/mirror/weather").head()) == a_chain().head
    (shown,) = odf("mirror", "status", "--repo", repository, "--json").json()  # type: ignore[misc]
    assert (shown["direction"], shown["schedule"], shown["lastError"], shown["lagS"]) == ("push", "on-change", None, 0)
    assert shown["states"]["weather"]["head"] == str(a_chain().head)
    assert "well" in odf("mirror", "status", "--repo", repository).lines[1]
    assert odf("mirror", "remove", 1, "--repo", repository).lines == ["removed mirror 1"]
    assert odf("mirror", "status", "--repo", repository, "--json").json() == []


def test_a_pull_mirror_fetches_on_a_schedule(repository: Path, tmp_path: Path) -> None:
    odf("init", tmp_path / "copy")
    arguments = ("--pull", "weather", "--schedule", "17 3 * * *", "--repo", tmp_path / "copy")
    assert odf("mirror", "add", f"file://{tmp_path}/", *arguments).code == 0
    assert odf("mirror", "run", 1, "--repo", tmp_path / "copy").code == 0
    assert odf("list", "--repo", tmp_path / "copy", "--json").stdout.count(b"weather") >= 1
    (shown,) = odf("mirror", "status", "--repo", tmp_path / "copy", "--json").json()  # type: ignore[misc]
    assert shown["nextRunAt"] % 86_400 == (3 * 60 + 17) * 60


def test_a_run_that_fails_says_why_and_ends_with_1(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file")
    odf("mirror", "add", f"file://{tmp_path}/blocked/", "--push", "%", "--repo", repository)
    ran = odf("mirror", "run", 1, "--repo", repository, "--json")
    assert ran.code == 1
    assert ran.json()["error"].startswith("weather: ")  # type: ignore[index]
    assert "weather" in odf("mirror", "status", "--repo", repository).lines[1]


def test_the_saved_token_goes_along_and_is_never_shown(repository: Path) -> None:
    save_token("http://127.0.0.1:9/", "s3cr3t-t0ken")
    odf("mirror", "add", "odf+http://127.0.0.1:9/alice/", "--push", "%", "--repo", repository)
    for ran in (odf("mirror", "status", "--repo", repository), odf("mirror", "run", 1, "--repo", repository)):
        assert "s3cr3t" not in ran.stdout.decode() + ran.stderr
    assert "s3cr3t" in "".join(
        path.read_bytes().decode(errors="replace") for path in repository.glob(".catalog.sqlite*")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["odf+http://a/"],
        ["odf+http://a/", "--push", "%", "--pull", "x"],
        ["odf+http://user:pass@a/", "--push", "%"],
        ["http://a/", "--push", "%"],
        ["http://a/", "--pull", "x", "--schedule", "often"],
        ["http://a/", "--pull", "no name"],
    ],
)
def test_what_cannot_be_mirrored_is_refused_when_it_is_added(repository: Path, arguments: list[str]) -> None:
    ran = odf("mirror", "add", *arguments, "--repo", repository)
    assert ran.code != 0
    assert "pass@" not in ran.stderr
    assert odf("mirror", "status", "--repo", repository, "--json").json() == []


def test_an_unknown_mirror_is_not_found(repository: Path) -> None:
    for verb in ("run", "remove"):
        assert "no mirror 7" in odf("mirror", verb, 7, "--repo", repository).stderr
