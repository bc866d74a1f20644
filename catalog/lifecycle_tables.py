"""The tables of the catalog for datasets that went away, were renamed or are to be given away."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Index, Integer, String, Table

from catalog.tables import METADATA

retired_datasets: Final = Table(
    "retired_datasets",
    METADATA,
    Column("place", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("alias", String, nullable=False),
    Column("retired_at", Float, nullable=False),
)

tombstones: Final = Table(
    "tombstones",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", String, nullable=False),
    Column("dataset_id", String, nullable=False, index=True),
    Column("alias", String, nullable=False),
    Column("alias_folded", String, nullable=False),
    Column("owner_id", String, nullable=False),
    Column("new_alias", String),
    Column("account_id", String),
    Column("at", Float, nullable=False),
    Column("reserved_until", Float, nullable=False),
    Column("kept_until", Float),
    Column("settled", Integer, nullable=False),
    Index("ix_tombstones_alias_folded", "alias_folded", "id"),
)

former_account_names: Final = Table(
    "former_account_names",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False),
    Column("name_folded", String, nullable=False),
    Column("account_id", String, nullable=False),
    Column("changed_by", String),
    Column("at", Float, nullable=False),
    Column("reserved_until", Float, nullable=False),
    Column("settled", Integer, nullable=False),
    Index("ix_former_account_names_name_folded", "name_folded", "id"),
)

transfer_offers: Final = Table(
    "transfer_offers",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("from_id", String, nullable=False),
    Column("to_id", String, nullable=False, index=True),
    Column("account_id", String),
    Column("at", Float, nullable=False),
)
