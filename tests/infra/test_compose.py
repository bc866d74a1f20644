"""docker-compose.yml parses, and what it names is there: settings, files, volumes, services."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from repo_server.config import Settings
from tests.source_tree import ROOT, text_of

COMPOSE: dict[str, Any] = yaml.safe_load(text_of(Path("docker-compose.yml")))
AWS_VARIABLES = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}
CADDYFILE = text_of(Path("infra/caddy/Caddyfile"))


def test_every_variable_of_the_server_is_a_setting_it_takes() -> None:
    environment = COMPOSE["services"]["server"]["environment"]
    settings = {name.removeprefix("ODF_").lower(): value for name, value in environment.items() if name[:4] == "ODF_"}
    assert settings.keys() <= Settings.model_fields.keys()
    Settings.model_validate(settings)
    assert {name for name in environment if name[:4] != "ODF_"} == AWS_VARIABLES


def test_the_server_has_the_keys_of_its_store() -> None:
    server, store = (COMPOSE["services"][name]["environment"] for name in ("server", "minio"))
    assert server["AWS_ACCESS_KEY_ID"] == store["MINIO_ROOT_USER"]
    assert server["AWS_SECRET_ACCESS_KEY"] == store["MINIO_ROOT_PASSWORD"]
    assert server["ODF_REPO"].startswith("s3+http://minio:9000/")


def test_no_secret_is_written_down() -> None:
    assert COMPOSE["services"]["minio"]["environment"]["MINIO_ROOT_PASSWORD"].startswith("${ODF_S3_SECRET:?")


@pytest.mark.parametrize("name", ["minio", "server"])
def test_what_only_the_others_talk_to_is_open_to_nobody_else(name: str) -> None:
    assert "ports" not in COMPOSE["services"][name]


def test_every_variable_of_the_proxy_is_one_of_the_caddyfile() -> None:
    assert set(COMPOSE["services"]["caddy"]["environment"]) <= set(re.findall(r"\{\$(\w+)", CADDYFILE))


def test_the_proxy_leads_to_the_server_where_it_listens() -> None:
    port = COMPOSE["services"]["server"]["environment"]["ODF_PORT"]
    assert COMPOSE["services"]["caddy"]["environment"]["ODF_UPSTREAM"] == f"server:{port}"


def test_connections_of_the_one_proxy_are_not_held_back() -> None:
    environment = COMPOSE["services"]["server"]["environment"]
    assert environment["ODF_CONNECTIONS_PER_ADDRESS_MAX"] == environment["ODF_CONNECTIONS_MAX"]


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_files_volumes_and_services_that_are_named_exist(name: str) -> None:
    service = COMPOSE["services"][name]
    for source in (volume.partition(":")[0] for volume in service.get("volumes", [])):
        assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
    assert set(service.get("depends_on", [])) <= set(COMPOSE["services"])
    assert "image" in service or (ROOT / service["build"]["dockerfile"]).is_file()


def test_the_container_starts_by_a_script_that_is_there_and_may_be_run() -> None:
    script = re.search(r'ENTRYPOINT \["/opt/odf/([^"]+)"\]', text_of(Path("infra/container/Containerfile")))
    assert script is not None
    assert (ROOT / script[1]).stat().st_mode & 0o111
