"""The schema of a catalog, brought up to date."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog

OPEN = """
import asyncio, sys
from catalog.catalog import open_catalog
async def main():
    async with open_catalog(sys.argv[1]) as catalog:
        print(len(await catalog.accounts.list()), "alembic" in sys.modules)
asyncio.run(main())
"""


def opened(url: str) -> str:
    command = [sys.executable, "-c", OPEN, url]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.slow
async def test_steps_are_loaded_only_when_there_is_one_to_take(url: str, tmp_path: Path) -> None:
    assert opened(url) == "0 True"
    assert opened(url) == "0 False"


async def test_a_catalog_of_newer_software_is_refused_unchanged(url: str, catalog: Catalog, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Exception, match="9999"):
        async with open_catalog(url):
            pass
    with sqlite3.connect(tmp_path / "catalog.sqlite") as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
