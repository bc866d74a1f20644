"""What is said of a name under which no dataset lies any more: what became of it, to those who may see that."""

from __future__ import annotations

from catalog.datasets import DatasetRecord
from catalog.permissions import Access, access_to
from catalog.tombstones import Fate, Tombstone
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId
from opendatafabric.errors import NotFound
from repo_server.http_errors import Gone
from repo_server.identity import Caller
from repo_server.moments import moment
from repo_server.services import Services


async def told_of(services: Services, alias: DatasetAlias, caller: Caller) -> Gone | None:
    """What became of the dataset that had this name; ``None`` when nothing did, or the caller may not know."""
    stone = await services.catalog.tombstones.of_name(alias)
    if stone is None:
        return None
    record = await services.catalog.datasets.find(stone.dataset_id)
    if not await _may_know(services, stone, record, caller):
        return None
    return await _gone(services, stone, record)


async def _may_know(services: Services, stone: Tombstone, record: DatasetRecord | None, caller: Caller) -> bool:
    if record is None:  # gone for good: its last owner may know
        account = caller.account
        return account is not None and (account.is_admin or account.id == stone.owner_id)
    account = caller.account
    role = None if account is None else await services.catalog.roles.of(account.id, record.id, record.owner_id)
    own = access_to(record, caller.authenticated, role, named=True)
    return max(own, access_to(record, None, None, named=True)) >= Access.READ


async def _gone(services: Services, stone: Tombstone, record: DatasetRecord | None) -> Gone:
    last = await services.catalog.tombstones.of_deleted(stone.dataset_id)
    if record is None or last is not None:
        return await _deleted(services, last or stone)
    verb = "given away" if stone.fate is Fate.TRANSFERRED else "renamed"
    done = await _done(services, stone)
    return Gone(f"{stone.alias} was {verb} {done}", found=record.alias, hint=f"it is {record.alias} now")


async def _deleted(services: Services, stone: Tombstone) -> Gone:
    kept = stone.kept_until
    hint = None if kept is None else f"its owner may bring it back until {moment(kept)}"
    return Gone(f"{stone.alias} was deleted {await _done(services, stone)}", hint=hint)


async def _done(services: Services, stone: Tombstone) -> str:
    return f"by {await _name_of(services, stone.account_id)} at {moment(stone.at)}"


async def _name_of(services: Services, account_id: AccountId | None) -> str:
    if account_id is None:
        return "the operator"
    try:
        return str((await services.catalog.accounts.find_by_id(account_id)).name)
    except NotFound:
        return "an account that is gone"
