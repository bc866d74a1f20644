"""Accounts of organisations, and accounts that are disabled."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("accounts", sa.Column("kind", sa.String, nullable=False, server_default="user"))
    op.add_column("accounts", sa.Column("disabled_at", sa.Float))


def downgrade() -> None:
    """Drop them."""
    with op.batch_alter_table("accounts") as table:
        table.drop_column("disabled_at")
        table.drop_column("kind")
