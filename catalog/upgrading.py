"""Brings the schema of a catalog up to date, step by step. Alembic is loaded only when there is a step to take."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_VERSION_TABLE: Final = "alembic_version"


def upgrade(connection: Connection) -> None:
    """Take the steps that are missing, inside the transaction of the connection."""
    if _is_current(connection):
        return
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _is_current(connection: Connection) -> bool:
    if not inspect(connection).has_table(_VERSION_TABLE):
        return False
    newest = max(path.name.split("_")[1] for path in (_MIGRATIONS / "versions").glob("step_*.py"))
    return connection.exec_driver_sql(f"SELECT version_num FROM {_VERSION_TABLE}").scalars().all() == [newest]
