"""Files and refs of stores that keep them in the catalog."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "named_files",
        sa.Column("place", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("cid", sa.LargeBinary, nullable=False, index=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("modified_at", sa.Float, nullable=False),
    )
    op.create_table(
        "held_files",
        sa.Column("token", sa.String, primary_key=True),
        sa.Column("cid", sa.LargeBinary, nullable=False, index=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("held_at", sa.Float, nullable=False),
    )
    op.create_table(
        "stored_refs",
        sa.Column("place", sa.String, primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("head", sa.String, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("stored_refs", "held_files", "named_files"):
        op.drop_table(table)
