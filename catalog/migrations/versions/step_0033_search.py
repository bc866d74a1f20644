"""Words of datasets, to be searched for; derivatives are looked at anew for their SQL."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from catalog.search_tables import INDEX, TRIGGERS

revision = "0033"
down_revision = "0032"

_KNOWN = """
INSERT INTO dataset_texts (dataset_id, name, keywords, description, columns, sql, license)
SELECT f.dataset_id, coalesce(d.alias, ''),
       coalesce((SELECT group_concat(value, ' ') FROM json_each(f.keywords)), ''),
       coalesce(f.description, ''),
       coalesce((SELECT group_concat(json_extract(value, '$[0]'), ' ') FROM json_each(f.columns)), ''),
       '',
       coalesce(json_extract(f.license, '$.short_name') || ' ' || json_extract(f.license, '$.name') || ' ' ||
                coalesce(json_extract(f.license, '$.spdx_id'), ''), '')
FROM dataset_facts f LEFT JOIN datasets d ON d.id = f.dataset_id
"""


def upgrade() -> None:
    """Make the tables and fill them with what is known."""
    op.add_column("dataset_facts", sa.Column("sql", sa.String))
    op.execute("UPDATE dataset_facts SET form = 3 WHERE instr(events, '\"SetTransform\"') = 0")
    op.drop_index("ix_dataset_facts_updated_at", "dataset_facts")
    op.create_index("ix_dataset_facts_updated_at", "dataset_facts", ["updated_at", "dataset_id"])
    op.create_index("ix_dataset_facts_bytes", "dataset_facts", ["bytes", "dataset_id"])
    op.create_table(
        "dataset_texts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("dataset_id", sa.String, nullable=False, unique=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("keywords", sa.String, nullable=False),
        sa.Column("description", sa.String, nullable=False),
        sa.Column("columns", sa.String, nullable=False),
        sa.Column("sql", sa.String, nullable=False),
        sa.Column("license", sa.String, nullable=False),
    )
    op.execute(INDEX)
    for name, does in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {does}")
    op.execute(_KNOWN)


def downgrade() -> None:
    """Drop them."""
    op.execute("DROP TABLE dataset_words")
    op.drop_table("dataset_texts")
    op.drop_index("ix_dataset_facts_bytes", "dataset_facts")
    op.drop_index("ix_dataset_facts_updated_at", "dataset_facts")
    op.create_index("ix_dataset_facts_updated_at", "dataset_facts", ["updated_at"])
    op.execute("UPDATE dataset_facts SET form = 1")
    op.drop_column("dataset_facts", "sql")
