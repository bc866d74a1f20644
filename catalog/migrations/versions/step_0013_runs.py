"""Runs of jobs are counted, tell how far they are, and know who asked for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("jobs", sa.Column("runs_ended", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("progress", sa.String))
    op.add_column("jobs", sa.Column("foreign", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("account_id", sa.String))


def downgrade() -> None:
    """Drop them."""
    with op.batch_alter_table("jobs") as table:
        for name in ("account_id", "foreign", "progress"):
            table.drop_column(name)
        table.drop_column("runs_ended")
