"""The tables of the catalog. Times are seconds since 1970; ids are canonical texts."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Table

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

accounts: Final = Table(
    "accounts",
    METADATA,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("name_folded", String, nullable=False, unique=True),
    Column("password_hash", String),
    Column("is_admin", Integer, nullable=False, default=0),
    Column("created_at", Float, nullable=False),
)

tokens: Final = Table(
    "tokens",
    METADATA,
    Column("id", String, primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("scopes", String, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("revoked_at", Float),
    Column("last_used_at", Float),
)

datasets: Final = Table(
    "datasets",
    METADATA,
    Column("id", String, primary_key=True),
    Column("alias", String, nullable=False),
    Column("alias_folded", String, nullable=False, index=True),
    Column("owner_id", String, ForeignKey("accounts.id"), nullable=False, index=True),
    Column("visibility", String, nullable=False),
    Column("created_at", Float, nullable=False),
)

roles: Final = Table(
    "roles",
    METADATA,
    Column("dataset_id", String, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String, nullable=False),
)

reflog: Final = Table(
    "reflog",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset_id", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("account_id", String),
    Column("expected_head", String),
    Column("new_head", String),
    Index("ix_reflog_dataset_at", "dataset_id", "at"),
)
