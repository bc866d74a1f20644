"""Settings of accounts and of their tokens."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class AccountSettings(BaseSettings):
    """Part of ``Settings``."""

    login_token_days: float = Field(30, gt=0, description="how long a token from a login is good")
    token_days_max: float = Field(
        366, gt=0, description="how long a token may be good that somebody makes for himself over HTTP"
    )
    token_days: float = Field(90, gt=0, description="how long a token is good that is made without saying so")
