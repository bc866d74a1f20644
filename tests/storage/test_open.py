"""Addresses become stores in one place."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from opendatafabric.errors import MalformedIdentifier, NotARepository, UnsupportedOperation
from storage.http.objects import HttpObjectReader
from storage.local.objects import LocalObjectStore
from storage.open import Connection, local_folder, open_dataset, open_objects, open_repository
from storage.repository import Repository
from tests.storage.chains import chain


async def test_a_path_and_a_file_url_are_the_same_folder(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    for address in (str(folder), folder.as_uri(), f"FILE://{folder}"):
        objects = open_objects(address)
        assert isinstance(objects, LocalObjectStore)
        assert objects.root == folder


async def test_a_web_address_needs_a_connection() -> None:
    with pytest.raises(UnsupportedOperation):
        open_objects("https://example.org/foo")
    async with aiohttp.ClientSession() as session:
        assert isinstance(open_objects("https://example.org/foo", Connection(session)), HttpObjectReader)


@pytest.mark.parametrize("address", ["s4://bucket/x", "gopher://x", "odf+http://x/y"])
def test_an_unknown_scheme_is_told(address: str) -> None:
    with pytest.raises(UnsupportedOperation):
        open_objects(address)


def test_a_file_url_of_another_machine_is_refused() -> None:
    with pytest.raises(MalformedIdentifier):
        local_folder("file://server/share")
    with pytest.raises(MalformedIdentifier):
        local_folder("/x\0y")


async def test_a_dataset_is_opened_by_its_address(tmp_path: Path) -> None:
    builder = chain(["a"])
    await open_dataset(str(tmp_path)).append(builder.blocks, expected_head=None)
    assert await open_dataset(tmp_path.as_uri()).head() == builder.head


async def test_a_repository_is_opened_by_its_address(tmp_path: Path) -> None:
    Repository.init(tmp_path / "r")
    opened = await open_repository(str(tmp_path / "r"))
    assert isinstance(opened, Repository)
    assert opened.root == tmp_path / "r"
    with pytest.raises(NotARepository):
        await open_repository(str(tmp_path / "absent"))
    with pytest.raises(UnsupportedOperation):
        await open_repository("https://example.org/")
