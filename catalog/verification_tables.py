"""The tables of the catalog for what is said of datasets, and what has to be said before a push counts."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Index, Integer, LargeBinary, String, Table

from catalog.tables import METADATA

attestations: Final = Table(
    "attestations",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("dataset_id", String, nullable=False),
    Column("head", String, nullable=False),
    Column("signer", String, nullable=False),
    Column("verdict", String, nullable=False),
    Column("verified_at", Float, nullable=False),
    Column("source", String),
    Column("envelope", LargeBinary, nullable=False),
    Column("envelope_hash", String, nullable=False, unique=True),
    Index("ix_attestations_dataset", "dataset_id", "verified_at"),
)

attestation_keys: Final = Table(
    "attestation_keys",
    METADATA,
    Column("did", String, primary_key=True),
    Column("valid_from", Float, nullable=False),
    Column("valid_until", Float),
)

gates: Final = Table(
    "gates",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("replay", Integer, nullable=False),
)

promotions: Final = Table(
    "promotions",
    METADATA,
    Column("id", String, primary_key=True),
    Column("dataset_id", String, primary_key=True),
    Column("expected_head", String),
    Column("new_head", String, nullable=False),
)
