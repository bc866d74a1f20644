"""Tokens are kept per origin in a file that only its owner reads."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from opendatafabric.errors import MalformedIdentifier, StorageError
from sync.credentials import origin_of, save_token, token_file, token_for


@pytest.fixture(autouse=True)
def _config_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_a_token_is_found_for_every_address_of_its_origin() -> None:
    save_token("http://example.org:8080/some/prefix", "secret")
    assert token_for("odf+http://example.org:8080/alice/data") == "secret"
    assert token_for("http://EXAMPLE.org:8080/") == "secret"


@pytest.mark.parametrize("url", ["https://example.org:8080/", "http://example.org/", "http://example.org:8081/"])
def test_a_token_is_never_given_to_another_origin(url: str) -> None:
    save_token("http://example.org:8080/", "secret")
    assert token_for(url) is None


def test_the_file_is_readable_by_its_owner_alone() -> None:
    path = save_token("http://example.org/", "secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_token_replaces_the_first_and_leaves_other_origins_alone() -> None:
    save_token("http://one.example/", "first")
    save_token("http://two.example/", "other")
    save_token("http://one.example/", "second")
    assert token_for("http://one.example/") == "second"
    assert token_for("http://two.example/") == "other"


def test_a_folder_has_no_token() -> None:
    assert token_for("file:///tmp/x") is None


@pytest.mark.parametrize("url", ["", "example.org", "file:///x", "http://", "s3://bucket/"])
def test_what_is_no_server_is_refused(url: str) -> None:
    with pytest.raises(MalformedIdentifier):
        origin_of(url)


def test_credentials_in_the_address_are_no_part_of_the_origin() -> None:
    assert origin_of("https://user:password@Example.org/x") == "https://example.org"


def test_a_damaged_file_is_named() -> None:
    save_token("http://example.org/", "secret")
    token_file().write_text("{")
    with pytest.raises(StorageError, match=r"tokens\.json"):
        token_for("http://example.org/")
