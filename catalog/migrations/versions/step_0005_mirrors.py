"""Mirrors, and how far each came with each dataset."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "mirrors",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("direction", sa.String, nullable=False),
        sa.Column("target", sa.String, nullable=False),
        sa.Column("pattern", sa.String, nullable=False),
        sa.Column("schedule", sa.String, nullable=False),
        sa.Column("token", sa.String),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("next_run_at", sa.Float, nullable=False),
        sa.Column("last_run_at", sa.Float),
        sa.Column("last_success_at", sa.Float),
        sa.Column("last_error", sa.String),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("lease_owner", sa.String),
        sa.Column("lease_until", sa.Float),
    )
    op.create_table(
        "mirrored_datasets",
        sa.Column("mirror_id", sa.Integer, sa.ForeignKey("mirrors.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("dataset", sa.String, primary_key=True),
        sa.Column("head", sa.String),
        sa.Column("behind_since", sa.Float),
        sa.Column("error", sa.String),
        sa.Column("state", sa.String, nullable=False),
    )
