"""Settings of what strangers may take: who is one, and how much of what."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode

from catalog.amounts import Limits, Quota
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

    reads_per_minute: int = Field(
        120_000, ge=0, description="requests that read of one account, or of one address without; 0 is any number"
    )
    transfers_per_minute: int = Field(60_000, ge=0, description="objects and pieces that it sends; 0 is any number")
    writes_per_minute: int = Field(600, ge=0, description="other requests of it that write; 0 is any number")
    failed_logins_per_5_minutes: int = Field(
        8, ge=0, description="logins with a password that may fail from one address; 0 is any number"
    )
    login_polls_per_minute: int = Field(
        120, ge=0, description="questions of one address whether a login in the browser is done; 0 is any number"
    )
    bad_tokens_per_minute: int = Field(
        60, ge=0, description="requests of one address with a token that does not count; 0 is any number"
    )

    quota_account_bytes: int = Field(0, ge=0, description="room for the datasets of one account, in bytes; 0 is any")
    quota_account_objects: int = Field(
        0, ge=0, description="data slices and checkpoints of one account; 0 is any number"
    )
    quota_account_datasets: int = Field(0, ge=0, description="datasets of one account; 0 is any number")
    quota_dataset_bytes: int = Field(0, ge=0, description="room for one dataset, in bytes; 0 is any")
    quota_dataset_objects: int = Field(
        0, ge=0, description="data slices and checkpoints of one dataset; 0 is any number"
    )

    @property
    def quota_limits(self) -> Limits:
        """What accounts and datasets may have for which nothing else was set."""
        account = Quota(self.quota_account_bytes, self.quota_account_objects, self.quota_account_datasets)
        return Limits(account, Quota(self.quota_dataset_bytes, self.quota_dataset_objects, 0))

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        """Where the proxies are."""
        return networks(self.trusted_proxies)
