"""A copy of the catalog is whole, also while others write; what cannot be copied is refused without secrets."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.snapshot import copy_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import StorageError, UnsupportedOperation
from opendatafabric.names import AccountName


async def accounts_in(file: Path) -> list[str]:
    async with open_catalog(sqlite_url(file)) as copy:
        return sorted(account.name for account in await copy.accounts.list())


async def test_a_copy_has_everything(catalog: Catalog, url: str, tmp_path: Path) -> None:
    await catalog.accounts.create(AccountName("alice"))
    assert await copy_catalog(url, tmp_path / "copy")
    assert await accounts_in(tmp_path / "copy") == ["alice"]


async def test_a_copy_made_while_others_write_is_how_it_was_at_one_moment(
    catalog: Catalog, url: str, tmp_path: Path
) -> None:
    async def write() -> None:
        for number in range(10_000):
            await catalog.accounts.create(AccountName(f"a{number:04}"))

    writing = asyncio.create_task(write())
    counts = []
    for _ in range(5):
        assert await copy_catalog(url, tmp_path / "copy")
        names = await accounts_in(tmp_path / "copy")
        assert names == [f"a{number:04}" for number in range(len(names))]
        counts.append(len(names))
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing
    assert counts == sorted(counts)


async def test_where_there_is_none_there_is_nothing_to_copy(tmp_path: Path) -> None:
    assert not await copy_catalog(sqlite_url(tmp_path / "none"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


async def test_a_copy_that_cannot_be_written_leaves_the_old_one(catalog: Catalog, url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        await copy_catalog(url, tmp_path / "no-such-folder" / "copy")
    await copy_catalog(url, tmp_path / "copy")
    before = (tmp_path / "copy").read_bytes()
    (tmp_path / "rotten").write_bytes(b"no database" * 100)
    with pytest.raises(StorageError):
        await copy_catalog(sqlite_url(tmp_path / "rotten"), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == before


@pytest.mark.parametrize("url", ["postgresql+asyncpg://odf:s3cr3t@host/odf", "sqlite+aiosqlite://"])
async def test_another_database_is_for_its_own_tools(url: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation) as refused:
        await copy_catalog(url, tmp_path / "copy")
    assert "pg_dump" in str(refused.value.hint)
    assert "s3cr3t" not in refused.value.message + str(refused.value.hint)
