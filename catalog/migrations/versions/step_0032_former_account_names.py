"""Names that accounts had."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "former_account_names",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("name_folded", sa.String, nullable=False),
        sa.Column("account_id", sa.String, nullable=False),
        sa.Column("changed_by", sa.String),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("reserved_until", sa.Float, nullable=False),
        sa.Column("settled", sa.Integer, nullable=False),
    )
    op.create_index("ix_former_account_names_name_folded", "former_account_names", ["name_folded", "id"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("former_account_names")
