"""What is known of objects and datasets in IPFS, and the records of their names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "ipfs_files",
        sa.Column("physical_hash", sa.LargeBinary, primary_key=True),
        sa.Column("profile", sa.String, primary_key=True),
        sa.Column("cid", sa.LargeBinary, nullable=False, index=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("tsize", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "ipfs_file_blocks",
        sa.Column("cid", sa.LargeBinary, primary_key=True),
        sa.Column("physical_hash", sa.LargeBinary, primary_key=True),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("node", sa.LargeBinary),
    )
    op.create_table(
        "ipfs_trees",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("dataset_id", sa.String, nullable=False),
        sa.Column("head", sa.LargeBinary, nullable=False),
        sa.Column("profile", sa.String, nullable=False),
        sa.Column("root", sa.LargeBinary, nullable=False),
        sa.Column("tsize", sa.BigInteger, nullable=False),
        sa.Column("published_at", sa.Float, nullable=False),
    )
    op.create_index("ix_ipfs_trees_dataset_id", "ipfs_trees", ["dataset_id", "id"])
    op.create_table(
        "ipfs_contents",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("physical_hash", sa.LargeBinary, nullable=False, index=True),
    )
    op.create_table(
        "ipfs_nodes",
        sa.Column("cid", sa.LargeBinary, primary_key=True),
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("replaced_by", sa.Integer),
    )
    op.create_index("ix_ipfs_nodes_dataset_id", "ipfs_nodes", ["dataset_id", "replaced_by"])
    op.create_table(
        "ipns_records",
        sa.Column("dataset_id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("value", sa.String, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("valid_until", sa.Float, nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("ipns_records", "ipfs_nodes", "ipfs_contents", "ipfs_trees", "ipfs_file_blocks", "ipfs_files"):
        op.drop_table(table)
