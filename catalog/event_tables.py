"""The table of what happened to datasets, in the order in which it did."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Integer, String, Table

from catalog.tables import METADATA

events: Final = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False, index=True),
    Column("type", String, nullable=False),
    Column("dataset_id", String, nullable=False),
    Column("alias", String),
    Column("public", Integer, nullable=False),
    Column("details", String, nullable=False),
    sqlite_autoincrement=True,
)
"""Numbers are never given again, so that whoever knows one knows what it has not seen."""
