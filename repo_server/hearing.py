"""Who may hear of what happened to a dataset: those who may read it now."""

from __future__ import annotations

from catalog.accounts import Account
from catalog.events import Event, EventType
from catalog.permissions import Access, access_to
from repo_server.gate import access_of
from repo_server.identity import Caller
from repo_server.services import Services


async def may_hear(services: Services, event: Event, caller: Caller, *, named: bool = False) -> bool:
    """Whether ``caller`` may; ``named`` when it gave the name of the dataset. That it is gone is heard by those whose
    it was, and by all if it was public."""
    if event.type is EventType.GONE:
        return event.public or _was_of(event, caller.account)
    hosted = await services.directory.find(event.dataset_id)
    if hosted is None:
        return False
    if services.settings.anonymous_access and access_to(hosted.record, None, None, named=named) >= Access.READ:
        return True  # whoever it is: many listen, and most of what happens is public
    return await access_of(services, hosted, caller, named=named) >= Access.READ


def _was_of(event: Event, account: Account | None) -> bool:
    return account is not None and (event.alias or "").lower().startswith(f"{account.name.folded}/")
