"""What datasets take, what is about to come to them, and how much accounts and datasets may have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "usage",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("objects", sa.BigInteger, nullable=False),
        sa.Column("dirty", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "reservations",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("account_id", sa.String, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("objects", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_index("ix_reservations_dataset_id", "reservations", ["dataset_id"])
    op.create_index("ix_reservations_account_id", "reservations", ["account_id"])
    op.create_table(
        "reserved_objects",
        sa.Column("reservation_id", sa.String, sa.ForeignKey("reservations.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "quotas",
        sa.Column("subject", sa.String, primary_key=True),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("objects", sa.BigInteger),
        sa.Column("datasets", sa.BigInteger),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("quotas", "reserved_objects", "reservations", "usage"):
        op.drop_table(table)
