"""What somebody asks of webhooks: checked, and who asks decides where messages may go."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from yarl import URL

from catalog.accounts import Account
from catalog.webhooks import NewWebhook, Reach, WebhookChange
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput
from opendatafabric.server_limits import WEBHOOK_URL_CHARS_MAX
from repo_server.event_settings import EventSettings
from repo_server.webhook_states import event_types

_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, ``None`` for the operator; with administrators he has messages sent to places that not everybody
    reaches."""

    account: Account | None
    settings: EventSettings

    @property
    def is_trusted(self) -> bool:
        return self.account is None or self.account.is_admin

    def checked_url(self, url: str) -> str:
        """``url``, if messages may be sent there as far as can be said before.

        Raises:
            MalformedInput: it is none.
        """
        if len(url) > WEBHOOK_URL_CHARS_MAX:
            raise MalformedInput("the address is too long", expected=f"at most {WEBHOOK_URL_CHARS_MAX} characters")
        schemes = {"https", "http"} if self.is_trusted or self.settings.webhook_private_places else {"https"}
        try:
            parsed = URL(url)
        except ValueError:
            parsed = URL()
        if parsed.scheme not in schemes or not parsed.host:
            raise MalformedInput(
                "a webhook goes to a web address", expected=" or ".join(f"{each}://…" for each in sorted(schemes))
            )
        return url


def new_webhook(
    asker: Asker, url: str, *, dataset_id: DatasetId | None, events: tuple[str, ...], own: bool, with_secret: bool
) -> NewWebhook:
    """A webhook of the dataset, or without one of the account."""
    reach = Reach.DATASET if dataset_id is not None else Reach.OWN if own else Reach.ALL
    return NewWebhook(
        asker.checked_url(url),
        reach,
        None if asker.account is None else asker.account.id,
        dataset_id,
        event_types(events),
        new_secret() if with_secret else None,
        asker.is_trusted,
    )


def webhook_change(
    asker: Asker, *, url: str | None, events: tuple[str, ...] | None, with_secret: bool | None, active: bool | None
) -> WebhookChange:
    """What is to be otherwise; what is ``None`` stays."""
    return WebhookChange(
        None if url is None else asker.checked_url(url),
        None if events is None else event_types(events),
        None if with_secret is None else new_secret() if with_secret else "",
        active,
        asker.is_trusted,
    )


def new_secret() -> str:
    """Something that nobody guesses."""
    return secrets.token_urlsafe(_SECRET_BYTES)
