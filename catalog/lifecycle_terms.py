"""The terms of a repository for datasets that go away; beside what uses them, for settings load no database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """How long what is deleted is kept, and an old name for its former owner, in seconds."""

    deleted_kept_s: float
    names_reserved_s: float
