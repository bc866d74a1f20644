"""The table of the catalog for what is derived from what: a row for each input of the transform that is in force in a
dataset. It is made from the chains, with the other facts."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Integer, String, Table

from catalog.tables import METADATA

dataset_inputs: Final = Table(
    "dataset_inputs",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("input_id", String, primary_key=True, index=True),
    Column("position", Integer, nullable=False),
    Column("alias", String),
    sqlite_with_rowid=False,
)
