"""Settings for datasets that go away: how long what is deleted is kept, and for whom its name."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from catalog.lifecycle_terms import Terms


class LifecycleSettings(BaseSettings):
    """Part of ``Settings``."""

    deleted_kept_s: float = Field(
        604_800, ge=0, description="how long a deleted dataset is kept and may come back, in seconds"
    )
    names_reserved_s: float = Field(
        7_776_000,
        ge=0,
        description="how long an old name of a dataset is kept for its former owner, in seconds",
    )
    reflog_kept_s: float = Field(
        2_592_000,
        ge=0,
        description="how long what a replaced head led to is kept, so that it can be put back, in seconds",
    )

    @property
    def terms(self) -> Terms:
        """As ``Lifecycle`` takes them."""
        return Terms(self.deleted_kept_s, self.names_reserved_s)
