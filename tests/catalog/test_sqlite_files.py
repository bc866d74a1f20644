"""Files of SQLite and their URLs."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from catalog.sqlite_files import sqlite_path, sqlite_url


@pytest.mark.parametrize("path", ["/data/catalog.sqlite", "catalog.sqlite", "a b/ü.sqlite", "/x/a+b%20c?.sqlite"])
def test_a_file_is_found_again_in_its_url_as_the_database_reads_it(path: str) -> None:
    assert sqlite_path(sqlite_url(Path(path))) == Path(path)
    assert make_url(sqlite_url(Path(path))).database == path


def test_options_of_a_url_are_no_part_of_the_file() -> None:
    assert sqlite_path("sqlite:////data/catalog.sqlite?timeout=5") == Path("/data/catalog.sqlite")


@pytest.mark.parametrize("url", ["sqlite+aiosqlite:///:memory:", "sqlite://", "postgresql+asyncpg://h/a", "", "x"])
def test_what_is_no_file_has_none(url: str) -> None:
    assert sqlite_path(url) is None
