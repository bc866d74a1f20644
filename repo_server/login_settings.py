"""Settings of logins: mixed into those of the server."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class LoginSettings(BaseSettings):
    """How people and programs show who they are."""

    session_s: float = Field(43_200, ge=60, description="how long a browser stays logged in, in seconds")
