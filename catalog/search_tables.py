"""The tables of the catalog that searches look at: the texts of each dataset, and an index of the words in them.

The index is SQLite's own (FTS5) over the rows of ``dataset_texts``; triggers keep it in step with them, whoever writes.
Letters are folded: case and diacritics make no difference.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import DDL, Column, Integer, String, Table, column, event, table

from catalog.tables import METADATA

WEIGHTS: Final = {"name": 1000.0, "keywords": 50.0, "description": 2.0, "columns": 2.0, "sql": 1.0, "license": 1.0}
"""What a search looks at, and how much a word counts for that is found there. What is found often counts less and less
each time (BM25), so they lie far apart: no description says a word so often that it comes before a name."""

dataset_texts: Final = Table(
    "dataset_texts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("dataset_id", String, nullable=False, unique=True),
    *(Column(name, String, nullable=False) for name in WEIGHTS),
)

dataset_words: Final = table("dataset_words", column("rowid"), column("dataset_words"))
"""The index; the column that is called like it stands for the whole row."""

_TEXTS: Final = ", ".join(WEIGHTS)
_OLD, _NEW = (", ".join(f"{row}.{name}" for name in WEIGHTS) for row in ("OLD", "NEW"))
_LEAVES: Final = f"INSERT INTO dataset_words (dataset_words, rowid, {_TEXTS}) VALUES ('delete', OLD.id, {_OLD});"
_ENTERS: Final = f"INSERT INTO dataset_words (rowid, {_TEXTS}) VALUES (NEW.id, {_NEW});"

INDEX: Final = (
    f"CREATE VIRTUAL TABLE dataset_words USING fts5({_TEXTS}, content='dataset_texts', content_rowid='id', "
    "tokenize='unicode61 remove_diacritics 2', prefix='2 3')"
)
TRIGGERS: Final = {
    "dataset_texts_insert": f"AFTER INSERT ON dataset_texts BEGIN {_ENTERS} END",
    "dataset_texts_delete": f"AFTER DELETE ON dataset_texts BEGIN {_LEAVES} END",
    "dataset_texts_update": f"AFTER UPDATE ON dataset_texts BEGIN {_LEAVES} {_ENTERS} END",
}
"""As SQLite writes them."""

for _statement in (INDEX, *(f"CREATE TRIGGER {name} {does}" for name, does in TRIGGERS.items())):
    event.listen(METADATA, "after_create", DDL(_statement))  # type: ignore[no-untyped-call]
