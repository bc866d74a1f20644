"""``odf push`` to an IPFS node, ``odf pull`` from it, and archives: the same bytes at both ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.cli.test_transfer import AIRPORTS, dataset_folder, files_of
from tests.ipfs.node import NodeAddresses, ipfs_node

pytestmark = pytest.mark.slow

__all__ = ["ipfs_node"]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    odf("init", tmp_path / "mine")
    assert odf("pull", "--repo", tmp_path / "mine", AIRPORTS).code == 0
    return tmp_path / "mine"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    odf("init", tmp_path / "other")
    return tmp_path / "other"


@pytest.mark.parametrize("kind", [0, 1], ids=["ipfs", "ipns"])
@pytest.mark.parametrize("by_rpc", [False, True], ids=["gateway", "rpc"])
def test_what_was_pushed_to_a_node_is_pulled_byte_for_byte(
    mine: Path, other: Path, ipfs_node: NodeAddresses, kind: int, by_rpc: bool
) -> None:
    pushed = odf("push", "us.faa.airports", "--repo", mine, "--to", ipfs_node.rpc)
    assert pushed.code == 0, pushed.stderr
    gateway = ipfs_node.rpc if by_rpc else ipfs_node.gateway
    pulled = odf("pull", "--repo", other, pushed.lines[kind], "--as", "air", "--ipfs-gateway", gateway)
    assert pulled.code == 0, pulled.stderr
    assert files_of(dataset_folder(other)) == files_of(AIRPORTS)


def test_pushing_again_leads_to_the_same_addresses(mine: Path, ipfs_node: NodeAddresses) -> None:
    (first,) = odf("push", "us.faa.airports", "--repo", mine, "--to", ipfs_node.rpc, "--json").json_lines()
    (again,) = odf("push", AIRPORTS, "--to", ipfs_node.rpc, "--json").json_lines()
    assert first == again


def test_what_has_no_meaning_for_ipfs_is_refused(mine: Path, ipfs_node: NodeAddresses) -> None:
    assert odf("push", "us.faa.airports", "--repo", mine, "--to", ipfs_node.rpc, "--force").code == 2


def test_a_node_that_is_not_there_is_told(mine: Path, unused_tcp_port: int) -> None:
    ran = odf("push", "us.faa.airports", "--repo", mine, "--to", f"kubo+http://127.0.0.1:{unused_tcp_port}")
    assert ran.code == 7
    assert "did not answer" in ran.stderr


def test_an_archive_holds_the_dataset_byte_for_byte(mine: Path, other: Path, tmp_path: Path) -> None:
    (done,) = odf("car", "export", "us.faa.airports", tmp_path / "a.car", "--repo", mine, "--json").json_lines()
    assert done["bytes"] == (tmp_path / "a.car").stat().st_size
    assert odf("pull", "--repo", other, tmp_path / "a.car", "--as", "air").code == 0
    assert files_of(dataset_folder(other)) == files_of(AIRPORTS)


def test_equal_datasets_make_equal_archives(mine: Path, tmp_path: Path) -> None:
    odf("car", "export", "us.faa.airports", tmp_path / "a.car", "--repo", mine)
    odf("car", "export", AIRPORTS, tmp_path / "b.car")
    assert (tmp_path / "a.car").read_bytes() == (tmp_path / "b.car").read_bytes()


def test_an_archive_that_cannot_be_written_leaves_nothing(mine: Path, tmp_path: Path) -> None:
    assert odf("car", "export", "us.faa.airports", tmp_path / "nowhere" / "a.car", "--repo", mine).code != 0
    assert odf("car", "export", "us.faa.airports", tmp_path / "a.zip", "--repo", mine).code == 2
    assert odf("car", "export", "absent", tmp_path / "a.car", "--repo", mine).code == 4
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
