"""The recipe of the engine's image: what it names is there, and it listens where coordinators look."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

from cli.commands.engine import serve
from pipeline.engine_contract.methods import PORT
from repo_server.config import Settings
from tests.source_tree import ROOT, text_of

RECIPE = text_of(Path("infra/engine/Containerfile"))


def test_the_image_starts_the_service_on_every_address_with_options_that_it_has() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", RECIPE, re.MULTILINE)
    program, group, command, *options = json.loads(entry)
    assert (program, group, command) == ("odf", "engine", "serve")
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert {name.removeprefix("--") for name in given} <= set(inspect.signature(serve).parameters)
    assert (given["--host"], given["--root"]) == ("0.0.0.0", "/opt/engine")


def test_the_port_is_where_engines_listen() -> None:
    assert re.findall(r"^EXPOSE (\d+)$", RECIPE, re.MULTILINE) == [str(PORT)]


@pytest.mark.parametrize("path", re.findall(r"^COPY (\S+) \S+$", RECIPE, re.MULTILINE))
def test_what_is_copied_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_variable_is_a_setting() -> None:
    (line,) = re.findall(r"^ENV (.*)$", RECIPE, re.MULTILINE)
    settings = {
        name.removeprefix("ODF_").lower(): value for name, value in (word.split("=", 1) for word in line.split())
    }
    assert settings.keys() <= Settings.model_fields.keys()
    Settings.model_validate(settings)
