"""The tables of the audit log. Triggers of the database refuse to change or remove what stands in them.

Entries leave the log only when a row of ``audit_archives`` says that they lie in a file.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import DDL, Column, Float, Integer, String, Table, event

from catalog.tables import METADATA

audit: Final = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("details", String, nullable=False),
    Column("hash", String, nullable=False),
)

audit_archives: Final = Table(
    "audit_archives",
    METADATA,
    Column("last_id", Integer, primary_key=True),
    Column("last_hash", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("file_hash", String, nullable=False),
)

_REFUSED: Final = "BEGIN SELECT RAISE(ABORT, 'the audit log can only be added to'); END"
_KEPT: Final = "OLD.id > (SELECT COALESCE(MAX(last_id), 0) FROM audit_archives)"
TRIGGERS: Final = {
    "audit_no_update": f"BEFORE UPDATE ON audit {_REFUSED}",
    "audit_no_delete": f"BEFORE DELETE ON audit WHEN {_KEPT} {_REFUSED}",
    "audit_archives_no_update": f"BEFORE UPDATE ON audit_archives {_REFUSED}",
    "audit_archives_no_delete": f"BEFORE DELETE ON audit_archives {_REFUSED}",
}
"""As SQLite writes them."""

for _name, _does in TRIGGERS.items():
    event.listen(METADATA, "after_create", DDL(f"CREATE TRIGGER {_name} {_does}"))  # type: ignore[no-untyped-call]
