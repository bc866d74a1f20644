"""The tables of the audit log. Triggers of the database refuse to change or remove what stands in them.

Entries leave the log only when a row of ``audit_archives`` says that they lie in a file.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Integer, String, Table

from catalog.tables import METADATA

audit: Final = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("details", String, nullable=False),
    Column("hash", String, nullable=False),
)

audit_archives: Final = Table(
    "audit_archives",
    METADATA,
    Column("last_id", Integer, primary_key=True),
    Column("last_hash", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("file_hash", String, nullable=False),
)
