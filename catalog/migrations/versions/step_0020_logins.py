"""Browsers that somebody is logged in with, and logins of devices that wait for a person."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "browser_sessions",
        sa.Column("id_hash", sa.LargeBinary, primary_key=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("began_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_table(
        "device_logins",
        sa.Column("code_hash", sa.LargeBinary, primary_key=True),
        sa.Column("client_id", sa.String, nullable=False),
        sa.Column("address", sa.String, nullable=False),
        sa.Column("began_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE")),
        sa.Column("polled_at", sa.Float),
    )
    op.create_index("ix_browser_sessions_account_id", "browser_sessions", ["account_id"])
    op.create_index("ix_browser_sessions_expires_at", "browser_sessions", ["expires_at"])
    op.create_index("ix_device_logins_expires_at", "device_logins", ["expires_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("device_logins")
    op.drop_table("browser_sessions")
