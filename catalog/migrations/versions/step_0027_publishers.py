"""Runs of CI systems that may push, and which of their tokens were used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "publishers",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("dataset_id", sa.String, sa.ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("issuer", sa.String, nullable=False),
        sa.Column("audience", sa.String),
        sa.Column("claims", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "used_identity_tokens",
        sa.Column("token_hash", sa.LargeBinary, primary_key=True),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("ix_publishers_dataset_id", "publishers", ["dataset_id"])
    op.create_index("ix_publishers_issuer", "publishers", ["issuer"])
    op.create_index("ix_used_identity_tokens_expires_at", "used_identity_tokens", ["expires_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("used_identity_tokens")
    op.drop_table("publishers")
