"""What clients call the server: told by configuration alone, and needed where the address of listening says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from opendatafabric.errors import MalformedInput
from repo_server.app import running
from repo_server.config import Settings
from storage.repository import Repository


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
async def test_a_server_on_every_address_must_be_told_its_name(tmp_path: Path, host: str) -> None:
    Repository.init(tmp_path)
    with pytest.raises(MalformedInput) as caught:
        async with running(Settings(repo=tmp_path, host=host, port=0)):
            pass
    assert "ODF_PUBLIC_URL" in str(caught.value.hint)


async def test_with_a_name_it_starts(tmp_path: Path) -> None:
    Repository.init(tmp_path)
    settings = Settings(repo=tmp_path, host="0.0.0.0", port=0, public_url="https://data.example.org/")
    async with running(settings) as address:
        assert address.startswith("http://0.0.0.0:")


@pytest.mark.parametrize(
    "url", ["", "data.example.org", "ftp://x", "http://", "http://a b", "http://a/?x", "http://a#b"]
)
def test_a_name_that_is_no_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValidationError):
        Settings(repo=tmp_path, public_url=url)


def test_the_account_by_default_does_not_sound_like_more_than_it_is(tmp_path: Path) -> None:
    assert Settings(repo=tmp_path).default_account == "default"
