"""Scopes that say what they are for, and tokens that are bound to some datasets."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

NEW_NAMES = {"read": "datasets:read", "write": "datasets:manage"}
OLD_NAMES = {"datasets:read": "read", "datasets:push": "write", "datasets:manage": "write"}
_TOKENS = sa.table("tokens", sa.column("id", sa.String), sa.column("scopes", sa.String))


def upgrade() -> None:
    """Add the column, and rename what is stored."""
    op.add_column("tokens", sa.Column("datasets", sa.String))
    _rename(NEW_NAMES)


def downgrade() -> None:
    """Drop it; what is bound to some datasets, or only for accounts, was not known before and is not kept."""
    op.execute("DELETE FROM tokens WHERE datasets IS NOT NULL OR scopes LIKE '%accounts:manage%'")
    with op.batch_alter_table("tokens") as table:
        table.drop_column("datasets")
    _rename(OLD_NAMES)


def _rename(names: Mapping[str, str]) -> None:
    connection = op.get_bind()
    for before in connection.execute(sa.select(_TOKENS.c.scopes).distinct()).scalars().all():
        after = " ".join(sorted({names.get(word, word) for word in before.split()}))
        connection.execute(sa.update(_TOKENS).where(_TOKENS.c.scopes == before).values(scopes=after))
