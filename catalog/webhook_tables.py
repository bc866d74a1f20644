"""The tables of the catalog for who wants to be told what happens, and how telling it went."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, ForeignKey, Integer, String, Table

from catalog.tables import METADATA

webhooks: Final = Table(
    "webhooks",
    METADATA,
    Column("id", String, primary_key=True),
    Column("account_id", String, ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
    Column("dataset_id", String, index=True),
    Column("reach", String, nullable=False),
    Column("url", String, nullable=False),
    Column("types", String, nullable=False),
    Column("secret", String),
    Column("trusted", Integer, nullable=False),
    Column("is_alert", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("cursor", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", String),
    Column("failures", Integer, nullable=False),
    Column("failing_since", Float),
    Column("due_at", Float, nullable=False),
    Column("lease", String),
    Column("lease_until", Float),
)
"""``account_id`` is whose rights count; alerts of former times know none."""

webhook_deliveries: Final = Table(
    "webhook_deliveries",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("webhook_id", String, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("event_id", Integer),
    Column("type", String, nullable=False),
    Column("subject", String),
    Column("attempt", Integer, nullable=False),
    Column("at", Float, nullable=False),
    Column("duration_s", Float, nullable=False),
    Column("status", Integer),
    Column("failure", String),
    Column("next_at", Float),
    sqlite_autoincrement=True,
)
"""``event_id`` is absent where nothing had happened, and somebody tried whether it would be told."""
