"""Who an account is to issuers elsewhere: a subject of an issuer is one account here, and stays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from catalog.accounts import Account, AccountKind, Accounts
from catalog.engine import Database
from catalog.login_tables import external_identities
from opendatafabric.did import AccountId
from opendatafabric.errors import (
    Conflict,
    MalformedIdentifier,
    MalformedInput,
    NameCollision,
    NotFound,
    StorageError,
    UnsupportedOperation,
)
from opendatafabric.login_limits import EXTERNAL_SUBJECT_CHARS_MAX
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

    async def link(self, issuer: str, subject: str, account: Account) -> None:
        """Let that identity be the account's, beside those that it has; again is fine.

        Raises:
            Conflict: it is another account's.
            MalformedInput: no identity is called so.
            UnsupportedOperation: the account is an organisation.
        """
        if account.kind is AccountKind.ORGANIZATION:
            raise UnsupportedOperation(f"{account.name} is an organisation: its members log in, it does not")
        if not issuer.strip() or not 0 < len(subject) <= EXTERNAL_SUBJECT_CHARS_MAX:
            expected = f"an issuer, and a subject of at most {EXTERNAL_SUBJECT_CHARS_MAX} characters"
            raise MalformedInput("no identity is called so", expected=expected)
        try:
            await self._link(issuer, subject, account)
        except StorageError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            holder = await self.find(issuer, subject)
            if holder.id != account.id:
                raise Conflict("the identity is another account's", found=holder.name, hint="unlink it there") from None

    async def unlink(self, issuer: str, subject: str, account: Account) -> None:
        """Let it be the account's no longer: nobody logs in with it; ``NotFound`` when it is not the account's."""
        own = external_identities.c.account_id == str(account.id)
        named = (external_identities.c.issuer == issuer) & (external_identities.c.subject == subject)
        async with self._database.writing() as connection:
            if not (await connection.execute(delete(external_identities).where(own, named))).rowcount:
                raise NotFound(f"{account.name} has no such identity", hint="odf account identities NAME")

    async def of(self, account: Account) -> list[tuple[str, str]]:
        """Issuer and subject of every identity that an account has."""
        table = external_identities.c
        query = select(table.issuer, table.subject).where(table.account_id == str(account.id)).order_by(*table)
        async with self._database.reading() as connection:
            return [(row.issuer, row.subject) for row in await connection.execute(query)]

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
