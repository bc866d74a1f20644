"""Who an account is to issuers elsewhere: a subject of an issuer is one account here, and stays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from catalog.accounts import Account, Accounts
from catalog.engine import Database
from catalog.login_tables import external_identities
from opendatafabric.did import AccountId
from opendatafabric.errors import MalformedIdentifier, NameCollision, NotFound, StorageError
from opendatafabric.names import AccountName

_NAMES_TRIED = 20


class ExternalIdentities:
    """Those of one catalog."""

    def __init__(self, database: Database, accounts: Accounts, now: Callable[[], float]) -> None:
        self._database, self._accounts, self._now = database, accounts, now

    async def find(self, issuer: str, subject: str) -> Account:
        """Whose identity that is; ``NotFound`` when it is nobody's yet."""
        query = select(external_identities.c.account_id).where(
            external_identities.c.issuer == issuer, external_identities.c.subject == subject
        )
        async with self._database.reading() as connection:
            found = (await connection.execute(query)).scalar()
        if found is None:
            raise NotFound("nobody has logged in here with this identity yet")
        return await self._accounts.find_by_id(AccountId.from_text(found))

    async def find_or_create(self, issuer: str, subject: str, name: AccountName) -> Account:
        """The same; for an identity that is nobody's yet a new account, of that name or one like it.

        An account that has the name already is somebody else's, whatever an issuer calls its subject.

        Raises:
            NameCollision: the name and all that are like it are taken.
        """
        try:
            return await self.find(issuer, subject)
        except NotFound:
            account = await self._created(name)
        try:
            await self._link(issuer, subject, account)
        except StorageError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            return await self.find(issuer, subject)  # somebody came first, with the same identity
        return account

    async def _created(self, name: AccountName) -> Account:
        for each in _names_like(name):
            try:
                return await self._accounts.create(each)
            except (NameCollision, MalformedIdentifier):  # taken, or reserved for paths of the node
                continue
        raise NameCollision(f"the account {name} and all that are called like it exist already", found=name)

    async def _link(self, issuer: str, subject: str, account: Account) -> None:
        row = {"issuer": issuer, "subject": subject, "account_id": str(account.id), "linked_at": self._now()}
        async with self._database.writing() as connection:
            await connection.execute(insert(external_identities).values(row))


def _names_like(name: AccountName) -> Iterator[AccountName]:
    yield name
    for number in range(2, _NAMES_TRIED + 1):
        yield AccountName(f"{name}-{number}")
