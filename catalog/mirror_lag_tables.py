"""The table of how far behind mirrors were."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, ForeignKey, Integer, Table

from catalog.tables import METADATA

mirror_lags: Final = Table(
    "mirror_lags",
    METADATA,
    Column("mirror_id", Integer, ForeignKey("mirrors.id", ondelete="CASCADE"), primary_key=True),
    Column("at", Float, primary_key=True),
    Column("lag_s", Float, nullable=False),
)
