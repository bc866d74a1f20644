"""What is derived from what. Facts that were gathered before are gathered again: they lack it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Make the table, and know by which rules facts were gathered."""
    op.create_table(
        "dataset_inputs",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("input_id", sa.String, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("alias", sa.String),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_dataset_inputs_input_id", "dataset_inputs", ["input_id"])
    op.add_column("dataset_facts", sa.Column("form", sa.Integer, nullable=False, server_default="1"))


def downgrade() -> None:
    """Drop both."""
    op.drop_column("dataset_facts", "form")
    op.drop_table("dataset_inputs")
