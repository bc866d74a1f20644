"""Roles in accounts and of teams; those of datasets move to the new table, where editors are called writers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Make the tables, and move what there is."""
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("name_folded", sa.String, nullable=False),
        sa.UniqueConstraint("account_id", "name_folded"),
    )
    op.create_table(
        "team_members",
        sa.Column("team_id", sa.Integer, sa.ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True),
        sa.Column(
            "account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, index=True
        ),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("dataset_id", sa.String, sa.ForeignKey("datasets.id", ondelete="CASCADE"), index=True),
        sa.Column("in_account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
        sa.Column("team_id", sa.Integer, sa.ForeignKey("teams.id", ondelete="CASCADE"), index=True),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("granted_at", sa.Float, nullable=False),
    )
    op.execute(
        "INSERT INTO grants (dataset_id, account_id, role, granted_at) "
        "SELECT dataset_id, account_id, CASE role WHEN 'editor' THEN 'writer' ELSE role END, 0 FROM roles"
    )
    op.drop_table("roles")


def downgrade() -> None:
    """Keep the roles of accounts in datasets alone; owners become maintainers, which there was nothing above."""
    op.create_table(
        "roles",
        sa.Column("dataset_id", sa.String, sa.ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("account_id", sa.String, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("role", sa.String, nullable=False),
    )
    op.execute(
        "INSERT INTO roles SELECT dataset_id, account_id, "
        "CASE role WHEN 'writer' THEN 'editor' WHEN 'owner' THEN 'maintainer' ELSE role END "
        "FROM grants WHERE dataset_id IS NOT NULL AND account_id IS NOT NULL"
    )
    for table in ("grants", "team_members", "teams"):
        op.drop_table(table)
