"""Settings that are more than a word."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from pipeline.engine_contract.elsewhere import EngineAddress, EngineImage
from repo_server.config import Settings, environment_of
from tools.limits_page import SETTINGS as LIMITING


def test_engines_are_named_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_ENGINES", '{"Flink": "127.0.0.1:2884", "mine": "example.org/engine:1"}')
    places = {"flink": EngineAddress("127.0.0.1:2884"), "mine": EngineImage("example.org/engine:1")}
    assert Settings().engines_elsewhere.places == places


def test_an_engine_that_is_nowhere_is_refused_by_its_name() -> None:
    with pytest.raises(ValidationError, match=r"engine flink: .*; expected: grpc://HOST:PORT"):
        Settings(engines={"flink": "http://host"})


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


def test_every_setting_that_is_a_limit_says_what_is_answered_beyond_it() -> None:
    limiting = {name for name in Settings.model_fields if re.search("_(max|at_once|per_)", name)}
    assert limiting <= set(LIMITING), "add it to tools/limits_page.py"
