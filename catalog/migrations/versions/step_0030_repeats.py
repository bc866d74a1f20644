"""Requests that may come again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "repeats",
        sa.Column("account_id", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("began_at", sa.Float, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", sa.String),
        sa.Column("body", sa.LargeBinary),
    )
    op.create_index("ix_repeats_began_at", "repeats", ["began_at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("repeats")
