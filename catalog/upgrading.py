"""Brings the schema of a catalog up to date, step by step; a new one is laid out as the steps would leave it.

Alembic is loaded only when there is a step to take.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect

from catalog.tables import METADATA

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_VERSION_TABLE: Final = "alembic_version"


def upgrade(connection: Connection) -> None:
    """Take the steps that are missing, inside the transaction of the connection."""
    if not inspect(connection).get_table_names():
        _lay_out(connection)
    elif not _is_current(connection):
        take_steps(connection)


def take_steps(connection: Connection, *, to: str = "head") -> None:
    """Take the steps that are missing, one after another, from the first for an empty database, up to ``to``."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def _is_current(connection: Connection) -> bool:
    if not inspect(connection).has_table(_VERSION_TABLE):
        return False
    return connection.exec_driver_sql(f"SELECT version_num FROM {_VERSION_TABLE}").scalars().all() == [_newest()]


def _lay_out(connection: Connection) -> None:
    METADATA.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(
        f"CREATE TABLE {_VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {_VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    connection.exec_driver_sql(f"INSERT INTO {_VERSION_TABLE} VALUES ('{_newest()}')")


def _newest() -> str:
    return max(path.name.split("_")[1] for path in (_MIGRATIONS / "versions").glob("step_*.py"))
