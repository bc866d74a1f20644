"""The commands against a running server: what ``make run`` starts, and ``odf serve`` itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.cli.test_transfer import dataset_folder, files_of
from tests.conftest import ExampleServer
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

AIRPORTS = ROOT / "examples" / "datasets" / "us.faa.airports"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    odf("init", tmp_path / "mine")
    return tmp_path / "mine"


def log_in(server: ExampleServer, account: str) -> None:
    token = odf("token", "create", account, "--repo", server.var / "repository").lines[0]
    assert odf("login", server.address, stdin=token).code == 0


@pytest.mark.parametrize("protocol", ["odf+http", "http"])
def test_a_dataset_is_pulled_byte_for_byte_by_both_protocols(
    example_server: ExampleServer, mine: Path, protocol: str
) -> None:
    address = example_server.address.replace("http", protocol, 1)
    ran = odf("pull", "--repo", mine, f"{address}/examples/us.faa.airports")
    assert ran.code == 0, ran.stderr
    assert files_of(dataset_folder(mine)) == files_of(AIRPORTS)


@pytest.mark.parametrize(
    "arguments",
    [("show",), ("log", "-n", "1"), ("tail", "-n", "1"), ("verify", "--integrity-only")],
    ids=lambda words: words[0],
)
def test_a_dataset_on_a_server_is_looked_at_without_pulling_it(
    example_server: ExampleServer, mine: Path, arguments: tuple[str, ...]
) -> None:
    command, *options = arguments
    by_address = odf(command, f"{example_server.address}/examples/us.faa.airports/", *options, "--json")
    by_name = odf(command, "examples/us.faa.airports", "--repo", example_server.address, *options, "--json")
    assert (by_address.code, by_name.code) == (0, 0), by_name.stderr
    assert by_address.stdout


def test_a_new_dataset_is_pushed_pulled_and_found_public(example_server: ExampleServer, mine: Path) -> None:
    log_in(example_server, "carol")
    odf("add", "--repo", mine, ROOT / "examples" / "sources" / "stocks.yaml")
    target = f"{example_server.address}/carol/stocks"
    pushed = odf("push", "com.yahoo.stocks.monthly", "--repo", mine, "--to", f"odf+{target}", "--visibility", "Public")
    assert pushed.code == 0, pushed.stderr
    again = odf("push", "com.yahoo.stocks.monthly", "--repo", mine, "--to", f"odf+{target}", "--json")
    assert again.json_lines()[0]["upToDate"] is True
    with urllib.request.urlopen(f"{target}/refs/head") as answer:
        assert (
            answer.read().decode()
            == json.loads(odf("show", "--repo", mine, "com.yahoo.stocks.monthly", "--json").stdout)["head"]
        )


def test_a_private_dataset_is_seen_by_its_owner_alone(
    example_server: ExampleServer, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(example_server, "dave")
    odf("add", "--repo", mine, ROOT / "examples" / "sources" / "airports.yaml")
    target = f"{example_server.address}/dave/secret"
    assert odf("push", "us.faa.airports", "--repo", mine, "--to", f"odf+{target}").code == 0
    assert odf("show", f"{target}/").code == 0
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "stranger"))
    assert odf("show", f"{target}/").code == 4
    assert odf("pull", "--repo", mine, f"odf+{target}", "--as", "other").code == 4


def test_pushing_without_a_token_is_denied_and_says_what_to_do(example_server: ExampleServer, mine: Path) -> None:
    odf("add", "--repo", mine, ROOT / "examples" / "sources" / "airports.yaml")
    ran = odf("push", "us.faa.airports", "--repo", mine, "--to", f"odf+{example_server.address}/eve/x")
    assert ran.code == 6, ran.stderr
    assert "hint:" in ran.stderr


def test_pushing_to_the_account_of_another_is_denied(example_server: ExampleServer, mine: Path) -> None:
    log_in(example_server, "mallory")
    odf("add", "--repo", mine, ROOT / "examples" / "sources" / "airports.yaml")
    ran = odf("push", "us.faa.airports", "--repo", mine, "--to", f"odf+{example_server.address}/carol/mine-now")
    assert ran.code == 6, ran.stderr


def test_what_is_not_on_the_server_ends_with_not_found(example_server: ExampleServer, mine: Path) -> None:
    assert odf("pull", "--repo", mine, f"odf+{example_server.address}/examples/nothing").code == 4
    assert odf("log", f"{example_server.address}/examples/nothing/").code == 4


def test_the_first_line_of_serve_is_its_address_and_sigterm_stops_it(mine: Path) -> None:
    command = [sys.executable, "-m", "cli.main", "serve", "--port", "0", "--repo", str(mine)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}/system/health") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_serving_what_is_no_repository_fails_at_once(tmp_path: Path) -> None:
    assert odf("serve", "--port", "0", "--repo", tmp_path).code == 4


def test_a_setting_that_cannot_be_is_named(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_STALL_S", "soon")
    ran = odf("serve", "--port", "0", "--repo", mine)
    assert ran.code == 3
    assert "stall_s" in ran.stderr
    assert os.environ["ODF_STALL_S"] == "soon"
