"""The tables of the catalog for what chains say: a row for each dataset, and one for each block. Both can be made
again from the chains."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Float, Index, Integer, String, Table

from catalog.tables import METADATA

dataset_facts: Final = Table(
    "dataset_facts",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("head", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("blocks", BigInteger, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("watermark", String),
    Column("description", String),
    Column("keywords", String, nullable=False),
    Column("license", String),
    Column("columns", String, nullable=False),
    Column("events", String, nullable=False),
    Column("form", Integer, nullable=False, server_default="1"),
    Column("sql", String),
    Index("ix_dataset_facts_updated_at", "updated_at", "dataset_id"),
    Index("ix_dataset_facts_bytes", "bytes", "dataset_id"),
)

dataset_blocks: Final = Table(
    "dataset_blocks",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("sequence_number", Integer, primary_key=True, autoincrement=False),
    Column("hash", String, nullable=False),
    Column("system_time", Float, nullable=False),
    Column("event", String, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
