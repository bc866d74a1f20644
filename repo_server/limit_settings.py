"""Settings of what strangers may take: who is one, and how much of what."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode

from repo_server.addresses import Network, networks
from repo_server.setting_values import words


def _all_networks(given: tuple[str, ...]) -> tuple[str, ...]:
    networks(given)
    return given


class LimitSettings(BaseSettings):
    """A part of the settings of a server."""

    trusted_proxies: Annotated[tuple[str, ...], NoDecode, BeforeValidator(words), AfterValidator(_all_networks)] = (
        Field(
            (),
            description="addresses or networks of proxies whose X-Forwarded-For is believed, parted by blanks",
        )
    )

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        """Where the proxies are."""
        return networks(self.trusted_proxies)
