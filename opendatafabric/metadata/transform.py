"""Queries: of a derivative dataset and of the preprocess step of a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from opendatafabric.dataset_ref import DatasetRef
from opendatafabric.metadata.wire_types import UnionOf


@dataclass(frozen=True, slots=True)
class SqlQueryStep:
    """One statement; all but the last step of a transform have an alias."""

    alias: str | None = None
    query: str = ""


@dataclass(frozen=True, slots=True)
class TemporalTable:
    name: str
    primary_key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TransformSql:
    """``query`` is short for a single step in ``queries`` and never stored by the reference."""

    engine: str
    version: str | None = None
    query: str | None = None
    queries: tuple[SqlQueryStep, ...] | None = None
    temporal_tables: tuple[TemporalTable, ...] | None = None


Transform = Annotated[TransformSql, UnionOf("Transform")]
"""A union of one member, id 1; more may come."""


@dataclass(frozen=True, slots=True)
class TransformInput:
    """``dataset_ref`` is an id in a chain, and may be an alias in a snapshot."""

    dataset_ref: DatasetRef
    alias: str | None = None
