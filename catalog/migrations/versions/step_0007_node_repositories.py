"""Repositories at IPFS nodes: their datasets, leases, and what is still to be unpinned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the tables."""
    op.add_column("held_files", sa.Column("place", sa.String, nullable=False, server_default=""))
    op.create_table("released_files", sa.Column("cid", sa.LargeBinary, primary_key=True))
    op.create_table(
        "stored_places",
        sa.Column("place", sa.String, primary_key=True),
        sa.Column("made_at", sa.Float, nullable=False),
    )
    op.create_table(
        "stored_datasets",
        sa.Column("place", sa.String, primary_key=True),
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("alias", sa.String, nullable=False),
        sa.Column("alias_folded", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_index("ix_stored_datasets_alias_folded", "stored_datasets", ["place", "alias_folded"], unique=True)
    op.create_table(
        "stored_leases",
        sa.Column("token", sa.String, primary_key=True),
        sa.Column("place", sa.String, nullable=False, index=True),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("contents", sa.LargeBinary, nullable=False),
        sa.Column("placed_at", sa.Float, nullable=False),
        sa.Column("signed_at", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("stored_leases", "stored_datasets", "stored_places", "released_files"):
        op.drop_table(table)
    op.drop_column("held_files", "place")
