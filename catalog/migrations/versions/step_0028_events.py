"""What happened to datasets, in order."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("alias", sa.String),
        sa.Column("public", sa.Integer, nullable=False),
        sa.Column("details", sa.String, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_at", "events", ["at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("events")
