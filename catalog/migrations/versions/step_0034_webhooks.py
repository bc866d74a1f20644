"""Webhooks of accounts and datasets; alerts become some of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

_MOVED = """
INSERT INTO webhooks (id, dataset_id, reach, url, types, trusted, is_alert, created_at, cursor, state, failures, due_at)
SELECT lower(hex(randomblob(16))), dataset_id, 'dataset', url, 'verdict-changed', 1 - "foreign", 1, 0,
  (SELECT coalesce(max(id), 0) FROM events), 'active', 0, 0
FROM former_webhooks
"""


def upgrade() -> None:
    """Make the tables, and take over the addresses of alerts."""
    op.rename_table("webhooks", "former_webhooks")
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE")),
        sa.Column("dataset_id", sa.String),
        sa.Column("reach", sa.String, nullable=False),
        sa.Column("url", sa.String, nullable=False),
        sa.Column("types", sa.String, nullable=False),
        sa.Column("secret", sa.String),
        sa.Column("trusted", sa.Integer, nullable=False),
        sa.Column("is_alert", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("cursor", sa.Integer, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("reason", sa.String),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("failing_since", sa.Float),
        sa.Column("due_at", sa.Float, nullable=False),
        sa.Column("lease", sa.String),
        sa.Column("lease_until", sa.Float),
    )
    op.create_index("ix_webhooks_account_id", "webhooks", ["account_id"])
    op.create_index("ix_webhooks_dataset_id", "webhooks", ["dataset_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("webhook_id", sa.String, sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
        sa.Column("event_id", sa.Integer),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("subject", sa.String),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("duration_s", sa.Float, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("failure", sa.String),
        sa.Column("next_at", sa.Float),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_webhook_deliveries_webhook_id", "webhook_deliveries", ["webhook_id"])
    op.execute(_MOVED)
    op.drop_table("former_webhooks")
    op.drop_table("alerts")


def downgrade() -> None:
    """Go back to alerts."""
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
    op.create_table(
        "webhooks",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("url", sa.String, nullable=False),
        sa.Column("foreign", sa.Integer, nullable=False),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("due_at", sa.Float, nullable=False, index=True),
        sa.Column("attempts", sa.Integer, nullable=False),
    )
