"""What the chain said when a schedule was set: who may do less than its setter must not change it afterwards."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column."""
    op.add_column("schedules", sa.Column("said", sa.String))


def downgrade() -> None:
    """Drop it."""
    with op.batch_alter_table("schedules") as table:
        table.drop_column("said")
