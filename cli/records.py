"""Cells of tables for people."""

from __future__ import annotations

from typing import Any

from opendatafabric.data.changelog import OperationType


def cell(value: Any) -> str:
    """A value for people."""
    return "" if value is None else str(value)


def operation_cell(value: Any) -> str:
    """An operation for people: ``+A``, ``-R``, ``-C``, ``+C``."""
    return OperationType(value).symbol if value in iter(OperationType) else cell(value)
