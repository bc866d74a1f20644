"""The tables of what datasets take, what is about to come to them, and how much accounts and datasets may have."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Integer, String, Table

from catalog.tables import METADATA

usage: Final = Table(
    "usage",
    METADATA,
    Column("dataset_id", String, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("objects", BigInteger, nullable=False),
    Column("dirty", Integer, nullable=False),
    Column("version", Integer, nullable=False),
)

reservations: Final = Table(
    "reservations",
    METADATA,
    Column("id", String, primary_key=True),
    Column("dataset_id", String, nullable=False, index=True),
    Column("account_id", String, nullable=False, index=True),
    Column("bytes", BigInteger, nullable=False),
    Column("objects", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("until", Float, nullable=False),
)

reserved_objects: Final = Table(
    "reserved_objects",
    METADATA,
    Column("reservation_id", String, ForeignKey("reservations.id", ondelete="CASCADE"), primary_key=True),
    Column("key", String, primary_key=True),
    Column("size", BigInteger, nullable=False),
)

quotas: Final = Table(
    "quotas",
    METADATA,
    Column("subject", String, primary_key=True),
    Column("bytes", BigInteger),
    Column("objects", BigInteger),
    Column("datasets", BigInteger),
)
