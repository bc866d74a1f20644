"""The table of requests that may come again, and of what was answered."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Integer, LargeBinary, String, Table

from catalog.tables import METADATA

repeats: Final = Table(
    "repeats",
    METADATA,
    Column("account_id", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("began_at", Float, nullable=False, index=True),
    Column("status", Integer),
    Column("headers", String),
    Column("body", LargeBinary),
)
"""Without a status the request is being done."""
