"""What the settings let polls do."""

from __future__ import annotations

import pytest

from cli.fetching import fetch_options
from repo_server.config import Settings


def test_polls_of_ones_own_get_what_the_settings_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_ETHEREUM_NODES", '{"1": "https://node/key", "137": "https://other"}')
    monkeypatch.setenv("ODF_ETHEREUM_CONFIRMATIONS", "12")
    monkeypatch.setenv("ODF_CONTAINER_RUNTIME", "/opt/runtime")
    monkeypatch.setenv("ODF_PIPES", "true")
    found = fetch_options(Settings(), {"KEY": "value"})
    assert found.ethereum_nodes == {1: "https://node/key", 137: "https://other"}
    assert (found.ethereum_confirmations, found.container_runtime, found.pipes) == (12, "/opt/runtime", True)
    assert found.variables == {"KEY": "value"}
    assert found.private_places


def test_without_settings_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODF_PIPES", raising=False)
    assert not fetch_options(Settings(), {}).pipes


def test_addresses_of_nodes_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_ETHEREUM_NODES", '{"1": "https://node/key"}')
    assert "key" not in repr(Settings().ethereum_nodes)
