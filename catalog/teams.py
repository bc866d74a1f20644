"""Teams: named sets of accounts within an account, given roles together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, delete, insert, select

from catalog.accounts import Account
from catalog.engine import Database
from catalog.role_tables import team_members, teams
from catalog.tables import accounts
from opendatafabric.did import AccountId
from opendatafabric.errors import NotFound
from opendatafabric.names import AccountName

_HINT: Final = "odf team list ACCOUNT shows what there is"


@dataclass(frozen=True, slots=True)
class Team:
    """``name`` is known within the account alone."""

    id: int
    account_id: AccountId
    name: AccountName


class Teams:
    """The teams of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(self, owner: Account, name: AccountName, members: Iterable[Account]) -> Team:
        """Have a team of exactly these members; one that is there keeps its roles."""
        key = {"account_id": str(owner.id), "name_folded": name.folded}
        async with self._database.writing() as connection:
            known = (await connection.execute(select(teams.c.id).filter_by(**key))).scalar()
            if known is None:
                made = await connection.execute(insert(teams).values({**key, "name": str(name)}).returning(teams.c.id))
                known = int(made.scalar_one())
            await connection.execute(delete(team_members).where(team_members.c.team_id == known))
            rows = [{"team_id": known, "account_id": account_id} for account_id in {str(each.id) for each in members}]
            if rows:
                await connection.execute(insert(team_members), rows)
        return await self.find(owner, name)

    async def find(self, owner: Account, name: AccountName) -> Team:
        """The team of that name in the account; ``NotFound`` when there is none."""
        query = select(teams).filter_by(account_id=str(owner.id), name_folded=name.folded)
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            raise NotFound(f"{owner.name} has no team {name}", hint=_HINT)
        return _team(row)

    async def members(self, team: Team) -> list[AccountName]:
        """Who is in a team, by name."""
        query = (
            select(accounts.c.name)
            .join(team_members, team_members.c.account_id == accounts.c.id)
            .where(team_members.c.team_id == team.id)
            .order_by(accounts.c.name_folded)
        )
        async with self._database.reading() as connection:
            return [AccountName(name) for name in (await connection.execute(query)).scalars()]

    async def remove(self, team: Team) -> None:
        """Have the team no longer; its roles end with it."""
        async with self._database.writing() as connection:
            await connection.execute(delete(teams).where(teams.c.id == team.id))

    async def list(self, owner: Account) -> list[Team]:
        """The teams of an account by name."""
        query = select(teams).filter_by(account_id=str(owner.id)).order_by(teams.c.name_folded)
        async with self._database.reading() as connection:
            return [_team(row) for row in await connection.execute(query)]


def _team(row: Row[Any]) -> Team:
    return Team(row.id, AccountId.from_text(row.account_id), AccountName(row.name))
