"""Who is told when a verdict changes, and what has not been told yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make the tables."""
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


def downgrade() -> None:
    """Drop them."""
    op.drop_table("alerts")
    op.drop_table("webhooks")
