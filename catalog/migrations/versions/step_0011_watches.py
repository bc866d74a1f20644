"""Schedules that follow changes: which datasets a job watches, and for whom it is done."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the table and the columns; a schedule without strikes follows changes alone."""
    op.create_table(
        "watches",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("watched_id", sa.String, primary_key=True, index=True),
        sa.Column("seen_head", sa.String),
    )
    op.add_column("jobs", sa.Column("asked_at", sa.Float))
    with op.batch_alter_table("schedules") as schedules:
        schedules.alter_column("cron", existing_type=sa.String, nullable=True)
        schedules.add_column(sa.Column("on_change", sa.Integer, nullable=False, server_default="0"))
        schedules.add_column(sa.Column("account_id", sa.String))


def downgrade() -> None:
    """Drop them; schedules without strikes go with them."""
    op.execute("DELETE FROM schedules WHERE cron IS NULL")
    with op.batch_alter_table("schedules") as schedules:
        schedules.drop_column("account_id")
        schedules.drop_column("on_change")
        schedules.alter_column("cron", existing_type=sa.String, nullable=False)
    op.drop_column("jobs", "asked_at")
    op.drop_table("watches")
