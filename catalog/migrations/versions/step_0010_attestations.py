"""Signed verdicts, and the keys that this repository signs with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "attestations",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("head", sa.String, nullable=False),
        sa.Column("signer", sa.String, nullable=False),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("verified_at", sa.Float, nullable=False),
        sa.Column("source", sa.String),
        sa.Column("envelope", sa.LargeBinary, nullable=False),
        sa.Column("envelope_hash", sa.String, nullable=False, unique=True),
    )
    op.create_index("ix_attestations_dataset", "attestations", ["dataset_id", "verified_at"])
    op.create_table(
        "attestation_keys",
        sa.Column("did", sa.String, primary_key=True),
        sa.Column("valid_from", sa.Float, nullable=False),
        sa.Column("valid_until", sa.Float),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("attestation_keys")
    op.drop_table("attestations")
