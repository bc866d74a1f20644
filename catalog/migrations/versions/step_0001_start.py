"""Accounts, tokens, datasets, roles, reflog."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("name_folded", sa.String, nullable=False, unique=True),
        sa.Column("password_hash", sa.String),
        sa.Column("is_admin", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column(
            "account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True
        ),
        sa.Column("secret_hash", sa.LargeBinary, nullable=False),
        sa.Column("scopes", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float),
        sa.Column("revoked_at", sa.Float),
        sa.Column("last_used_at", sa.Float),
    )
    op.create_table(
        "datasets",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("alias", sa.String, nullable=False),
        sa.Column("alias_folded", sa.String, nullable=False, index=True),
        sa.Column("owner_id", sa.String, sa.ForeignKey("accounts.id"), nullable=False, index=True),
        sa.Column("visibility", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "roles",
        sa.Column("dataset_id", sa.String, sa.ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("role", sa.String, nullable=False),
    )
    op.create_table(
        "reflog",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("account_id", sa.String),
        sa.Column("expected_head", sa.String),
        sa.Column("new_head", sa.String),
    )
    op.create_index("ix_reflog_dataset_at", "reflog", ["dataset_id", "at"])


def downgrade() -> None:
    """Drop them."""
    for table in ("reflog", "roles", "datasets", "tokens", "accounts"):
        op.drop_table(table)
