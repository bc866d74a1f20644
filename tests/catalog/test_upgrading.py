"""The schema of a catalog, brought up to date."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from operator import itemgetter
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, inspect

from catalog.catalog import Catalog, open_catalog
from catalog.upgrading import take_steps

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


def schema_of(engine: Engine) -> dict[str, object]:
    """Tables, columns, keys, indexes and triggers, whatever order they were made in; keys have no names."""
    look = inspect(engine)
    schema: dict[str, object] = {}
    for table in look.get_table_names():
        columns = [{**column, "type": str(column["type"])} for column in look.get_columns(table)]
        schema[table] = (
            sorted(columns, key=itemgetter("name")),
            look.get_pk_constraint(table)["constrained_columns"],
            sorted(
                (*key["constrained_columns"], key["referred_table"], *key["options"].items())
                for key in look.get_foreign_keys(table)
            ),
            sorted(look.get_indexes(table), key=itemgetter("name")),
            sorted(unique["column_names"] for unique in look.get_unique_constraints(table)),
        )
    with engine.connect() as connection:
        made = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        schema["triggers"] = sorted((name, " ".join(sql.split())) for name, sql in made)
    return schema


@pytest.fixture
def stepped(tmp_path: Path) -> Engine:
    """A database that was brought up to date from nothing, step by step."""
    engine = create_engine(f"sqlite:///{tmp_path / 'stepped.sqlite'}")
    with engine.begin() as connection:
        take_steps(connection)
    return engine


async def test_a_new_catalog_is_what_all_steps_would_make_of_it(
    stepped: Engine, catalog: Catalog, tmp_path: Path
) -> None:
    laid_out = create_engine(f"sqlite:///{tmp_path / 'catalog.sqlite'}")
    assert schema_of(laid_out) == schema_of(stepped)


@pytest.mark.slow
async def test_steps_are_loaded_only_when_there_is_one_to_take(url: str, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'catalog.sqlite'}")
    with engine.begin() as connection:
        take_steps(connection, to="0001")
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
