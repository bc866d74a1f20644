"""The table of attempts that all servers over one catalog count together."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, LargeBinary, Table

from catalog.tables import METADATA

attempts: Final = Table(
    "attempts",
    METADATA,
    Column("key", LargeBinary, primary_key=True),
    Column("full_at", Float, nullable=False, index=True),
)
