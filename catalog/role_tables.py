"""The tables of the catalog for roles and teams. A row of ``grants`` is for a dataset or for an account with all its
datasets, and is held by an account or by a team."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, ForeignKey, Integer, String, Table, UniqueConstraint

from catalog.tables import METADATA

teams: Final = Table(
    "teams",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("name_folded", String, nullable=False),
    UniqueConstraint("account_id", "name_folded"),
)

team_members: Final = Table(
    "team_members",
    METADATA,
    Column("team_id", Integer, ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, index=True),
)

grants: Final = Table(
    "grants",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset_id", String, ForeignKey("datasets.id", ondelete="CASCADE"), index=True),
    Column("in_account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
    Column("team_id", Integer, ForeignKey("teams.id", ondelete="CASCADE"), index=True),
    Column("role", String, nullable=False),
    Column("granted_at", Float, nullable=False),
)
