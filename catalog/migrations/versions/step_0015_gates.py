"""Gates before heads, and promotions that are under way."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "gates",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("replay", sa.Integer, nullable=False),
    )
    op.create_table(
        "promotions",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("expected_head", sa.String),
        sa.Column("new_head", sa.String, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("promotions")
    op.drop_table("gates")
