"""Settings of how others are told what happens: those who listen, and webhooks."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class EventSettings(BaseSettings):
    """Part of ``Settings``."""

    events_kept_s: float = Field(
        2_592_000, gt=0, description="how long what happened to datasets is told to those who come back, in seconds"
    )
    listeners_at_once: int = Field(2_000, gt=0, description="clients that listen to events; more are answered 503")

    run_webhooks: bool = Field(True, description="whether this server tells the webhooks of its catalog")
    webhook_private_places: bool = Field(
        False, description="whether everybody's webhooks may go to http:// and to addresses that are not public"
    )
    webhooks_at_once: int = Field(64, gt=0, description="webhooks that are told beside each other")
    webhook_tellings_per_minute: int = Field(
        600, ge=0, description="what is told in a minute to the webhooks of one account; 0 is any number"
    )
    webhook_days_until_paused: float = Field(5, gt=0, description="how long a webhook may fail before it is paused")
