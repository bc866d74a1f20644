"""Which verification reports there are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "reports",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("hash", sa.String, primary_key=True),
        sa.Column("head", sa.String),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("replayed", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("reports")
