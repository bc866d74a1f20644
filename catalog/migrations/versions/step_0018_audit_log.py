"""The audit log can only be added to; what leaves it lies in an archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from catalog.audit_tables import TRIGGERS

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Make the table and the triggers."""
    op.create_table(
        "audit_archives",
        sa.Column("last_id", sa.Integer, primary_key=True),
        sa.Column("last_hash", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("file_hash", sa.String, nullable=False),
    )
    for name, does in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {does}")


def downgrade() -> None:
    """Drop them."""
    for name in TRIGGERS:
        op.execute(f"DROP TRIGGER {name}")
    op.drop_table("audit_archives")
