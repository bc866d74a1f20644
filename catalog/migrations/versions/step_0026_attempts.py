"""Attempts that all servers count together."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "attempts",
        sa.Column("key", sa.LargeBinary, primary_key=True),
        sa.Column("full_at", sa.Float, nullable=False),
    )
    op.create_index("ix_attempts_full_at", "attempts", ["full_at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("attempts")
