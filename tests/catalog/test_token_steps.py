"""What a catalog of former times said of its tokens still counts after the step to scopes with names of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

import catalog
from catalog.catalog import open_catalog
from catalog.scopes import Scope
from catalog.sqlite_files import sqlite_url
from catalog.token_text import TokenParts
from catalog.upgrading import take_steps

SECRET_HASH = TokenParts(bytes(16), bytes(16)).secret_hash
FORMER = [("1", "read"), ("2", "read write"), ("3", "write"), ("4", "admin")]


BEFORE = "0018"
"""The step before the scopes had names of their own."""


def steps_back(path: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(catalog.__file__).parent / "migrations"))
    with create_engine(f"sqlite:///{path}").begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, BEFORE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.sqlite"


def former_catalog(path: Path) -> None:
    with create_engine(f"sqlite:///{path}").begin() as connection:
        take_steps(connection, to=BEFORE)
        connection.exec_driver_sql(
            "INSERT INTO accounts (id, name, name_folded, is_admin, created_at) VALUES ('did:odf:fed01' || "
            "'0000000000000000000000000000000000000000000000000000000000000000', 'alice', 'alice', 0, 1)"
        )
        for token_id, scopes in FORMER:
            connection.exec_driver_sql(
                "INSERT INTO tokens (id, account_id, secret_hash, scopes, created_at) "
                "SELECT ?, id, ?, ?, 1 FROM accounts",
                (token_id, SECRET_HASH, scopes),
            )


async def test_tokens_of_former_times_are_good_for_what_they_were_good_for(path: Path) -> None:
    former_catalog(path)
    async with open_catalog(sqlite_url(path)) as opened:
        found = {info.id: info.scopes for info in await opened.tokens.list()}
    assert found == {
        "1": {Scope.DATASETS_READ},
        "2": {Scope.DATASETS_READ, Scope.DATASETS_MANAGE},
        "3": {Scope.DATASETS_MANAGE},
        "4": {Scope.ADMIN},
    }


async def test_a_step_back_keeps_no_token_that_would_then_be_good_for_more(path: Path) -> None:
    former_catalog(path)
    async with open_catalog(sqlite_url(path)) as opened:
        [alice] = await opened.accounts.list()
        await opened.tokens.create(alice, [Scope.ACCOUNTS_MANAGE])
    steps_back(path)
    with create_engine(f"sqlite:///{path}").begin() as connection:
        kept = connection.exec_driver_sql("SELECT id, scopes FROM tokens ORDER BY id").all()
    assert [tuple(row) for row in kept] == FORMER
