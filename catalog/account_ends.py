"""An account that gets another name or goes, in one transaction each: what else lies under its name is moved after."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.accounts import Account, AccountKind, account_of, check_name, named_once, require_administrator
from catalog.engine import Database
from catalog.former_account_names import give_up_name, require_free_name
from catalog.lifecycle_tables import transfer_offers
from catalog.quota_tables import quotas
from catalog.role_tables import grants
from catalog.roles import Role
from catalog.tables import accounts, datasets, tokens
from opendatafabric.did import AccountId
from opendatafabric.errors import Conflict
from opendatafabric.names import AccountName


class AccountEnds:
    """Over the accounts of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def rename(self, account: Account, name: AccountName, *, kept_s: float, by: AccountId | None) -> Account:
        """Call an account otherwise; its former name is kept for it so long, in seconds. Tokens that are bound to
        datasets below the former name are bound to those below the new one.

        Raises:
            NameCollision: the name is taken, or kept for another account.
            MalformedIdentifier: the name is the beginning of paths of the node.
        """
        check_name(name)
        changed = update(accounts).where(accounts.c.id == str(account.id)).values(name=name[:], name_folded=name.folded)
        with named_once(name):
            async with self._database.writing() as connection:
                now = self._now()
                await require_free_name(connection, name, now, claimant=account.id)
                await give_up_name(connection, account.name, account.id, now=now, kept_s=kept_s, by=by, settled=False)
                await _rebind(connection, account.name, name)
                return account_of((await connection.execute(changed.returning(accounts))).one())

    async def delete(self, account: Account, *, kept_s: float, by: AccountId | None) -> None:
        """End an account with its tokens, sessions, identities, roles and teams; nobody has its name for so long.

        Raises:
            Conflict: it owns datasets, those that are deleted and still kept too; or is the last owner of an
                organisation, or the last administrator.
        """
        async with self._database.writing() as connection:
            await _require_no_datasets(connection, account)
            await _require_no_organization(connection, account)
            own = str(account.id)
            for held in (transfer_offers.c.from_id == own, transfer_offers.c.to_id == own, quotas.c.subject == own):
                await connection.execute(delete(held.left.table).where(held))
            await connection.execute(delete(accounts).where(accounts.c.id == own))
            await require_administrator(connection, account)
            now = self._now()
            await give_up_name(connection, account.name, account.id, now=now, kept_s=kept_s, by=by, settled=True)


async def _require_no_datasets(connection: AsyncConnection, account: Account) -> None:
    owned = select(func.count()).select_from(datasets).where(datasets.c.owner_id == str(account.id))
    count = (await connection.execute(owned)).scalar_one()
    if count:
        raise Conflict(
            f"{account.name} owns datasets",
            found=count,
            hint="give them away or delete them for good; what was deleted and is still kept counts: odf undelete",
        )


async def _require_no_organization(connection: AsyncConnection, account: Account) -> None:
    owners = grants.alias("owners")
    others = select(owners.c.id).where(
        owners.c.in_account_id == grants.c.in_account_id,
        owners.c.account_id != str(account.id),
        owners.c.role == Role.OWNER.value,
    )
    alone = (
        select(accounts.c.name)
        .join(grants, grants.c.in_account_id == accounts.c.id)
        .where(accounts.c.kind == AccountKind.ORGANIZATION.value)
        .where(grants.c.account_id == str(account.id), grants.c.role == Role.OWNER.value)
        .where(~others.exists())
    )
    organization = (await connection.execute(alone)).scalar()
    if organization is not None:
        raise Conflict(f"{account.name} is the last owner of {organization}", hint="make another one first")


async def _rebind(connection: AsyncConnection, before: AccountName, after: AccountName) -> None:
    bound = select(tokens.c.id, tokens.c.datasets).where(tokens.c.datasets.is_not(None))
    for row in (await connection.execute(bound)).all():
        patterns = [_rebound(each, before, after) for each in row.datasets.split()]
        if patterns != row.datasets.split():
            changed = update(tokens).where(tokens.c.id == row.id)
            await connection.execute(changed.values(datasets=" ".join(patterns)))


def _rebound(pattern: str, before: AccountName, after: AccountName) -> str:
    account, slash, name = pattern.partition("/")
    return f"{after}/{name}" if slash and account.lower() == before.folded else pattern
