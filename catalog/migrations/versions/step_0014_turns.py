"""Which jobs somebody waits for, and what became of their runs so far."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("jobs", sa.Column("wished", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("runs_failed", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("busy_s", sa.Float, nullable=False, server_default="0"))


def downgrade() -> None:
    """Drop them."""
    with op.batch_alter_table("jobs") as table:
        for name in ("busy_s", "runs_failed", "wished"):
            table.drop_column(name)
