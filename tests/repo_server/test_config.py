"""Settings that are more than a word."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from repo_server.config import Settings, environment_of


def test_engines_are_named_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_ENGINES", '{"Flink": "127.0.0.1:2884", "mine": "grpc://[::1]:5544"}')
    assert Settings().engines == {"flink": "127.0.0.1:2884", "mine": "[::1]:5544"}


@pytest.mark.parametrize("address", ["", "host", "host:", ":2884", "host:port", "http://host:1", "grpc://"])
def test_an_engine_without_host_and_port_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match=r"flink: .* no address of an engine; expected: grpc://HOST:PORT"):
        Settings(engines={"flink": address})


def test_a_child_has_the_settings_of_its_parent_also_those_with_names_in_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ODF_ETHEREUM_NODES", '{"1": "https://node.example.org/key"}')
    settings = Settings(engines={"flink": "127.0.0.1:2884"})
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    child = Settings()
    assert child.engines == settings.engines
    assert child.ethereum_nodes == settings.ethereum_nodes
