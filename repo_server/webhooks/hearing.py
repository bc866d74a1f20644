"""Which events a webhook is told: those it asked for, of datasets that its account may read at that time."""

from __future__ import annotations

from catalog.accounts import Account
from catalog.events import Event, EventType
from catalog.scopes import Scope
from catalog.tokens import Authenticated
from catalog.webhooks import Reach, Webhook
from opendatafabric.did import AccountId
from opendatafabric.errors import NotFound
from repo_server.hearing import may_hear
from repo_server.identity import Caller
from repo_server.remembered import Remembered
from repo_server.services import Services


class WebhookRights:
    """What webhooks may, by what holds now."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._accounts: Remembered[AccountId, Account | None] = Remembered(services.catalog.version)

    async def hears(self, webhook: Webhook, event: Event) -> bool:
        """Whether the webhook is told ``event``."""
        wanted = webhook.wanted
        if not webhook.is_about(event.type, event.dataset_id):
            return False
        if wanted.account_id is None:  # the dataset's own, of former times
            return True
        account = await self._account(wanted.account_id)
        if account is None:
            return False
        if wanted.dataset_id is not None and event.type is EventType.GONE:
            return True
        if wanted.reach is Reach.OWN and not await self._owns(account, event):
            return False
        caller = Caller(Authenticated(account, frozenset(Scope)))
        return await may_hear(self._services, event, caller, named=wanted.dataset_id is not None)

    async def reaches_private_places(self, webhook: Webhook) -> bool:
        """Whether its messages may go to addresses that not everybody reaches: as the settings say, else those of
        administrators alone."""
        if self._services.settings.webhook_private_places:
            return True
        wanted = webhook.wanted
        account = None if wanted.account_id is None else await self._account(wanted.account_id)
        return wanted.trusted and (wanted.account_id is None or (account is not None and account.is_admin))

    async def settle(self) -> None:
        """Wait for what is being looked up, so that the catalog may be closed."""
        await self._accounts.settle()

    async def _owns(self, account: Account, event: Event) -> bool:
        if event.type is EventType.GONE:
            return (event.alias or "").lower().startswith(f"{account.name.folded}/")
        hosted = await self._services.directory.find(event.dataset_id)
        return hosted is not None and hosted.record.owner_id == account.id

    async def _account(self, account_id: AccountId) -> Account | None:
        return await self._accounts.ask(account_id, lambda: self._look_up(account_id))

    async def _look_up(self, account_id: AccountId) -> Account | None:
        try:
            return await self._services.catalog.accounts.find_enabled(account_id)
        except NotFound:
            return None
