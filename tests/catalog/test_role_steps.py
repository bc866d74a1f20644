"""Roles of a catalog of former times still count after the step to roles in accounts and of teams."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import create_engine

from catalog.catalog import open_catalog
from catalog.roles import Role
from catalog.sqlite_files import sqlite_url
from catalog.upgrading import take_steps
from opendatafabric.did import AccountId, DatasetId

BEFORE = "0020"
OWNER, EDITOR, DATASET = (f"did:odf:fed01{digit * 64}" for digit in "012")


async def test_editors_are_writers_afterwards_and_other_roles_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    with create_engine(f"sqlite:///{path}").begin() as connection:
        take_steps(connection, to=BEFORE)
        for account_id, name in ((OWNER, "alice"), (EDITOR, "bob")):
            connection.exec_driver_sql("INSERT INTO accounts VALUES (?, ?, ?, NULL, 0, 1)", (account_id, name, name))
        connection.exec_driver_sql(
            "INSERT INTO datasets VALUES (?, 'alice/d', 'alice/d', ?, 'private', 1)", (DATASET, OWNER)
        )
        roles = ((DATASET, EDITOR, "editor"), (DATASET, OWNER, "maintainer"))
        for role in roles:
            connection.exec_driver_sql("INSERT INTO roles VALUES (?, ?, ?)", role)
    dataset_id, owner = DatasetId.from_text(DATASET), AccountId.from_text(OWNER)
    async with open_catalog(sqlite_url(path)) as catalog:
        assert await catalog.roles.of(AccountId.from_text(EDITOR), dataset_id, owner) is Role.WRITER
        assert await catalog.roles.of(owner, dataset_id, owner) is Role.MAINTAINER
