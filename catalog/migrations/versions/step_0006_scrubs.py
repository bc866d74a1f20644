"""How far scrubbing came."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "scrubs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("dataset", sa.String, nullable=False),
        sa.Column("after", sa.String, nullable=False),
        sa.Column("next_run_at", sa.Float, nullable=False),
        sa.Column("last_end_at", sa.Float),
        sa.Column("lease_owner", sa.String),
        sa.Column("lease_until", sa.Float),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("scrubs")
