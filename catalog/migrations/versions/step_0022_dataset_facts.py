"""What chains say, for pages and searches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Make the tables, and find the newest reports quickly."""
    op.create_table(
        "dataset_facts",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("head", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("blocks", sa.BigInteger, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
        sa.Column("watermark", sa.String),
        sa.Column("description", sa.String),
        sa.Column("keywords", sa.String, nullable=False),
        sa.Column("license", sa.String),
        sa.Column("columns", sa.String, nullable=False),
        sa.Column("events", sa.String, nullable=False),
    )
    op.create_index("ix_dataset_facts_updated_at", "dataset_facts", ["updated_at"])
    op.create_table(
        "dataset_blocks",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("sequence_number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("system_time", sa.Float, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_reports_ended_at", "reports", ["ended_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_index("ix_reports_ended_at", "reports")
    op.drop_table("dataset_blocks")
    op.drop_table("dataset_facts")
