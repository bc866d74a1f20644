"""The audit log can only be added to; what leaves it lies in an archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_REFUSALS = (
    ("audit_no_update", "UPDATE ON audit", ""),
    (
        "audit_no_delete",
        "DELETE ON audit",
        "WHEN OLD.id > (SELECT COALESCE(MAX(last_id), 0) FROM audit_archives)",
    ),
    ("audit_archives_no_update", "UPDATE ON audit_archives", ""),
    ("audit_archives_no_delete", "DELETE ON audit_archives", ""),
)


def upgrade() -> None:
    """Make the table and the triggers."""
    op.create_table(
        "audit_archives",
        sa.Column("last_id", sa.Integer, primary_key=True),
        sa.Column("last_hash", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("file_hash", sa.String, nullable=False),
    )
    for name, event, condition in _REFUSALS:
        refusal = "SELECT RAISE(ABORT, 'the audit log can only be added to')"
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} {condition} BEGIN {refusal}; END")


def downgrade() -> None:
    """Drop them."""
    for name, _, _ in _REFUSALS:
        op.execute(f"DROP TRIGGER {name}")
    op.drop_table("audit_archives")
