"""What ingests with an idempotency key were about to commit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "ingest_plans",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("account_id", sa.String, nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("new_head", sa.String, nullable=False),
        sa.Column("answer", sa.String, nullable=False),
        sa.Column("planned_at", sa.Float, nullable=False, index=True),
    )
    op.create_index("ix_ingest_plans_key", "ingest_plans", ["dataset_id", "account_id", "key"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("ingest_plans")
