"""Who may read a dataset without a role."""

from __future__ import annotations

from enum import Enum


class Visibility(Enum):
    """Who may read without a role."""

    PRIVATE = "private"
    PUBLIC = "public"
