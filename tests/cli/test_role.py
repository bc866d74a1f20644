"""``odf role``, ``odf team`` and ``odf visibility``: set, shown and taken back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

WEATHER = "us.noaa.seattle-weather"
IN_WEATHER = ("--dataset", WEATHER)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one dataset and three accounts."""
    place = tmp_path_factory.mktemp("roles") / "r"
    odf("init", place)
    shutil.copytree(ROOT / "examples" / "datasets" / WEATHER, place / WEATHER)
    for name in ("acme", "alice", "bob"):
        assert odf("token", "create", name, "--repo", place).code == 0
    return place


@pytest.fixture
def repository(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "r")


def roles(repository: Path, *place: str) -> dict[str, str]:
    ran = odf("role", "list", *place, "--repo", repository, "--json")
    assert ran.code == 0, ran.stderr
    return {each["holder"]: each["role"] for each in ran.json()}  # type: ignore[union-attr,index,call-overload]


def test_roles_in_a_dataset_are_given_replaced_and_taken(repository: Path) -> None:
    for role in ("reader", "writer"):
        ran = odf("role", "grant", "bob", role, *IN_WEATHER, "--repo", repository)
        assert (ran.code, ran.lines) == (0, [f"bob is {role} in {WEATHER}"])
    assert roles(repository, *IN_WEATHER) == {"bob": "writer"}
    assert odf("role", "revoke", "bob", *IN_WEATHER, "--repo", repository).code == 0
    assert roles(repository, *IN_WEATHER) == {}


def test_a_team_is_given_a_role_in_all_datasets_of_its_account(repository: Path) -> None:
    assert odf("team", "set", "acme", "developers", "alice", "bob", "--repo", repository).code == 0
    assert odf("role", "grant", "team:developers", "owner", "--account", "acme", "--repo", repository).code == 0
    assert roles(repository, "--account", "acme") == {"team:developers": "owner"}
    assert odf("team", "list", "acme", "--repo", repository).lines[1].split() == ["developers", "alice,", "bob"]
    assert odf("team", "remove", "acme", "developers", "--repo", repository).code == 0
    assert roles(repository, "--account", "acme") == {}


def test_a_team_of_another_account_is_none_there(repository: Path) -> None:
    odf("team", "set", "acme", "developers", "bob", "--repo", repository)
    ran = odf("role", "grant", "team:developers", "reader", "--account", "alice", "--repo", repository)
    assert (ran.code, "alice has no team developers" in ran.stderr) == (4, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("grant", "bob", "boss", *IN_WEATHER), 2),
        (("grant", "nobody", "reader", *IN_WEATHER), 4),
        (("grant", "bob", "reader", "--dataset", "not.here"), 4),
        (("grant", "bob", "reader"), 2),
        (("list", *IN_WEATHER, "--account", "alice"), 2),
    ],
)
def test_what_makes_no_sense_is_refused(repository: Path, words: tuple[str, ...], code: int) -> None:
    assert odf("role", *words, "--repo", repository).code == code
    assert roles(repository, *IN_WEATHER) == {}


def test_visibility_is_set_and_shown(repository: Path) -> None:
    assert odf("visibility", WEATHER, "--repo", repository).lines == [f"{WEATHER}: private"]
    for wish in ("unlisted", "public", "private"):
        assert odf("visibility", WEATHER, wish, "--repo", repository, "--json").json() == {
            "dataset": WEATHER,
            "visibility": wish,
        }
        assert odf("visibility", WEATHER, "--repo", repository).lines == [f"{WEATHER}: {wish}"]
    assert odf("visibility", WEATHER, "secret", "--repo", repository).code == 2
