"""Settings of pages, and of the index that they are made from."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class PageSettings(BaseSettings):
    """What people see."""

    preview_records: int = Field(10, ge=0, le=100, description="newest records on the page of a dataset; 0 shows none")
    index_interval_s: float = Field(
        300, gt=0, description="how often all datasets are looked at for what other programs changed, in seconds"
    )
