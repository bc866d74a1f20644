"""Work to be done for datasets, and its schedules."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "jobs",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("due_at", sa.Float, index=True),
        sa.Column("made_up_until", sa.Float, nullable=False),
        sa.Column("began_at", sa.Float),
        sa.Column("ended_at", sa.Float),
        sa.Column("succeeded_at", sa.Float),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("error", sa.String),
        sa.Column("outcome", sa.String),
        sa.Column("lease_owner", sa.String),
        sa.Column("lease_until", sa.Float),
    )
    op.create_table(
        "schedules",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("cron", sa.String, nullable=False),
        sa.Column("timezone", sa.String, nullable=False),
        sa.Column("jitter_s", sa.Float, nullable=False),
        sa.Column("foreign", sa.Integer, nullable=False),
        sa.Column("paused_at", sa.Float),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("schedules")
    op.drop_table("jobs")
