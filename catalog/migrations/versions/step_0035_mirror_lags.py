"""How far behind mirrors were."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "mirror_lags",
        sa.Column("mirror_id", sa.Integer, sa.ForeignKey("mirrors.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("at", sa.Float, primary_key=True),
        sa.Column("lag_s", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("mirror_lags")
