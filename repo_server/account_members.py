"""Who is told who belongs to an organisation: its members are told all, everybody else who owns it."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.accounts import Account, AccountKind
from catalog.roles import Grant, Role
from repo_server.identity import Caller
from repo_server.services import Services


async def is_member(services: Services, caller: Caller, account: Account) -> bool:
    """Whether the caller has a role in ``account``, or is an administrator."""
    reader = caller.reader
    if reader is None:
        return False
    return reader.is_admin or await services.catalog.roles.in_account(reader.id, account.id) is not None


async def members_told(services: Services, caller: Caller, account: Account) -> Sequence[Grant]:
    """The accounts with a role in an organisation, those who own it first."""
    if account.kind is not AccountKind.ORGANIZATION:
        return ()
    grants = [each for each in await services.catalog.roles.list(account.id) if not each.is_team]
    if not await is_member(services, caller, account):
        grants = [each for each in grants if each.role is Role.OWNER]
    return sorted(grants, key=lambda grant: -grant.role.level)
