"""A fresh catalog on disk with a clock that the test turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_path, sqlite_url
from opendatafabric.names import AccountName


@dataclass
class Clock:
    """Seconds since 1970, as the test wants them."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "catalog.sqlite")


_LAID_OUT: dict[str, bytes] = {}
"""A catalog that is empty, laid out once: that takes longer than many a test."""


@pytest.fixture
async def catalog(url: str, clock: Clock) -> AsyncIterator[Catalog]:
    file = sqlite_path(url)
    assert file is not None
    if "empty" in _LAID_OUT:
        file.write_bytes(_LAID_OUT["empty"])
    else:
        async with open_catalog(url):
            pass
        _LAID_OUT["empty"] = file.read_bytes()
    async with open_catalog(url, now=clock) as opened:
        yield opened


@pytest.fixture
async def alice(catalog: Catalog) -> Account:
    return await catalog.accounts.create(AccountName("alice"))


@pytest.fixture
async def bob(catalog: Catalog) -> Account:
    return await catalog.accounts.create(AccountName("bob"))


def bytes_under(folder: Path) -> bytes:
    """All bytes of all files in a folder."""
    return b"".join(path.read_bytes() for path in folder.iterdir())
