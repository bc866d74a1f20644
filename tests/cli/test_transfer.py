"""``odf pull`` and ``odf push`` between folders; what they say and how they end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

DATASETS = ROOT / "examples" / "datasets"
AIRPORTS = DATASETS / "us.faa.airports"


def files_of(dataset: Path) -> dict[str, bytes]:
    """Every key that travels, with its bytes."""
    folders = ("refs", "blocks", "data", "checkpoints")
    return {str(path.relative_to(dataset)): path.read_bytes() for name in folders for path in dataset.glob(f"{name}/*")}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    odf("init", tmp_path / "mine")
    return tmp_path / "mine"


def dataset_folder(repository: Path) -> Path:
    (found,) = [path.parent for path in repository.glob("*/refs")]
    return found


def test_a_pulled_dataset_has_the_bytes_of_its_source(repository: Path) -> None:
    ran = odf("pull", "--repo", repository, AIRPORTS)
    assert ran.code == 0, ran.stderr
    assert ran.lines[0].startswith("us.faa.airports: 7 blocks, 4 objects (59.6 KiB), 884 records; head f1620a3bd5c9b")
    assert files_of(dataset_folder(repository)) == files_of(AIRPORTS)


def test_pulling_again_moves_nothing(repository: Path) -> None:
    odf("pull", "--repo", repository, f"file://{AIRPORTS}")
    again = odf("pull", "--repo", repository, f"file://{AIRPORTS}")
    assert again.lines == ["us.faa.airports: up to date"]


def test_several_datasets_are_pulled_and_a_missing_one_is_told(repository: Path) -> None:
    ran = odf("pull", "--repo", repository, AIRPORTS, "nowhere", DATASETS / "iowa.electricity")
    assert (ran.code, len(ran.lines)) == (1, 2)
    assert "nowhere" in ran.stderr


def test_a_dataset_is_pulled_under_another_name(repository: Path) -> None:
    odf("pull", "--repo", repository, AIRPORTS, "--as", "me/fields")
    assert [row["name"] for row in odf("list", "--repo", repository, "--json").json()] == ["me/fields"]  # type: ignore[attr-defined]


def test_one_name_cannot_serve_two_datasets(repository: Path) -> None:
    assert odf("pull", "--repo", repository, AIRPORTS, DATASETS / "iowa.electricity", "--as", "x").code == 2


def test_a_dry_run_counts_and_changes_nothing(repository: Path) -> None:
    (found,) = odf("pull", "--repo", repository, AIRPORTS, "--dry-run", "--json").json_lines()
    assert (found["dryRun"], found["blocks"], found["objects"], found["objectBytes"]) == (True, 7, 4, 61071)
    assert odf("list", "--repo", repository, "--json").json() == []


def test_metadata_alone_is_pulled_and_the_objects_later(repository: Path) -> None:
    odf("pull", "--repo", repository, AIRPORTS, "--metadata-only")
    assert not list(dataset_folder(repository).glob("data/*"))
    seed = odf("log", AIRPORTS, "--json").json_lines()[-1]["hash"]
    ran = odf("pull", "--repo", repository, AIRPORTS, "--since", seed)
    assert ran.code == 0, ran.stderr
    assert files_of(dataset_folder(repository)) == files_of(AIRPORTS)


def test_a_damaged_source_leaves_nothing_behind(repository: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(AIRPORTS, tmp_path / "damaged"))
    file = sorted((damaged / "data").iterdir())[0]
    file.write_bytes(b"!" + file.read_bytes()[1:])
    assert odf("pull", "--repo", repository, damaged, "--as", "x").code == 3
    assert odf("list", "--repo", repository, "--json").json() == []


def test_a_source_that_is_not_there_ends_with_not_found(repository: Path, tmp_path: Path) -> None:
    assert odf("pull", "--repo", repository, tmp_path / "nowhere").code == 4


def test_a_pull_outside_a_repository_says_how_to_make_one(tmp_path: Path) -> None:
    ran = odf("pull", "--repo", tmp_path / "none", AIRPORTS)
    assert ran.code == 4
    assert "odf init" in ran.stderr


def test_a_dataset_is_pushed_into_a_folder(tmp_path: Path) -> None:
    target = tmp_path / "copies" / "airports"
    ran = odf("push", AIRPORTS, "--to", f"file://{target}")
    assert ran.code == 0, ran.stderr
    assert files_of(target) == files_of(AIRPORTS)


def test_plain_http_cannot_be_pushed_to_and_the_hint_says_what_can() -> None:
    ran = odf("push", AIRPORTS, "--to", "http://127.0.0.1:9/x/y")
    assert ran.code == 1
    assert "odf+http" in ran.stderr


@pytest.mark.parametrize("url", ["odf+http://127.0.0.1:9/x/y", "http://127.0.0.1:9/x/y"])
def test_a_server_that_does_not_answer_ends_with_unavailable(repository: Path, url: str) -> None:
    assert odf("pull", "--repo", repository, url).code == 7


@pytest.mark.parametrize("url", ["gopher://x/y", "s4://bucket/x"])
def test_an_address_without_transport_is_named(repository: Path, url: str) -> None:
    ran = odf("pull", "--repo", repository, url)
    assert ran.code == 1
    assert url.split(":", maxsplit=1)[0] in ran.stderr


def test_a_dataset_in_ipfs_needs_a_gateway_and_a_name(repository: Path) -> None:
    url = "ipfs://bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354/"
    unnamed = odf("pull", "--repo", repository, url)
    assert (unnamed.code, "--as" in unnamed.stderr) == (2, True)
    without = odf("pull", "--repo", repository, url, "--as", "weather")
    assert without.code != 0
    assert "--ipfs-gateway" in without.stderr
    assert "ODF_IPFS_GATEWAY" in odf("show", url).stderr


def test_a_gateway_of_ipfs_that_is_not_there_is_unavailable(repository: Path, unused_tcp_port: int) -> None:
    url = "ipns://data.example.org/weather"
    for scheme in ("http", "kubo+http"):
        gateway = f"{scheme}://127.0.0.1:{unused_tcp_port}"
        assert odf("pull", "--repo", repository, url, "--ipfs-gateway", gateway).code == 7
