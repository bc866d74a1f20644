"""Who an account is to issuers of identities elsewhere."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "external_identities",
        sa.Column("issuer", sa.String, primary_key=True),
        sa.Column("subject", sa.String, primary_key=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("linked_at", sa.Float, nullable=False),
    )
    op.create_index("ix_external_identities_account_id", "external_identities", ["account_id"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("external_identities")
