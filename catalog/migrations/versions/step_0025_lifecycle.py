"""Datasets that were deleted or renamed, and offers to give them away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "retired_datasets",
        sa.Column("place", sa.String, primary_key=True),
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("alias", sa.String, nullable=False),
        sa.Column("retired_at", sa.Float, nullable=False),
    )
    op.create_table(
        "tombstones",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("dataset_id", sa.String, nullable=False, index=True),
        sa.Column("alias", sa.String, nullable=False),
        sa.Column("alias_folded", sa.String, nullable=False),
        sa.Column("owner_id", sa.String, nullable=False),
        sa.Column("new_alias", sa.String),
        sa.Column("account_id", sa.String),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("reserved_until", sa.Float, nullable=False),
        sa.Column("kept_until", sa.Float),
        sa.Column("settled", sa.Integer, nullable=False),
    )
    op.create_index("ix_tombstones_alias_folded", "tombstones", ["alias_folded", "id"])
    op.create_table(
        "transfer_offers",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("from_id", sa.String, nullable=False),
        sa.Column("to_id", sa.String, nullable=False, index=True),
        sa.Column("account_id", sa.String),
        sa.Column("at", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("transfer_offers", "tombstones", "retired_datasets"):
        op.drop_table(table)
