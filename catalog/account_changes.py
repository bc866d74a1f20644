"""What becomes of an account in one go, whoever asked for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from catalog.accounts import Account
from catalog.catalog import Catalog
from opendatafabric.names import AccountName


@dataclass(frozen=True, slots=True)
class AccountChange:
    """What is ``None`` stays as it is."""

    is_admin: bool | None = None
    disabled: bool | None = None
    password: str | None = field(default=None, repr=False)


async def change_account(catalog: Catalog, name: AccountName, change: AccountChange) -> Account:
    """The account as it is then; errors as those of ``Accounts``. A new password logs browsers out."""
    accounts = catalog.accounts
    account = await accounts.find(name)
    if change.is_admin is not None:
        account = await accounts.set_admin(name, is_admin=change.is_admin)
    if change.disabled is not None:
        account = await (accounts.disable if change.disabled else accounts.enable)(name)
    if change.password is not None:
        account = await accounts.set_password(name, change.password)
        await catalog.browser_sessions.end_all(account)
    return account
