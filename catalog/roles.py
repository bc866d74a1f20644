"""Roles: who may do what with datasets that are not their own.

A role is given in one dataset, or in an account (of a user or an organisation), where it holds for all its datasets,
those to come too. It is given to an account, or to a team, and then each of its members has it. Of several
roles the highest counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select

from catalog.accounts import Account, Accounts
from catalog.engine import Database
from catalog.role_tables import grants, team_members, teams
from catalog.tables import accounts
from catalog.teams import Team, Teams
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName

TEAM: Final = "team:"
"""What the names of teams begin with where accounts may stand too."""


class Role(Enum):
    """What an account may do with what is not its own; each includes those before."""

    READER = "reader"
    WRITER = "writer"
    MAINTAINER = "maintainer"
    OWNER = "owner"

    @classmethod
    def from_text(cls, text: str) -> Role:
        """``MalformedIdentifier`` for anything but the four words."""
        try:
            return cls(text)
        except ValueError:
            words = ", ".join(role.value for role in cls)
            raise MalformedIdentifier(f"there is no role {text[:100]!r}", expected=f"one of {words}") from None

    @property
    def level(self) -> int:
        """Higher roles have higher levels."""
        return list(Role).index(self)


Place = DatasetId | AccountId
"""Where a role is given: a dataset, or an account with all its datasets."""

Holder = Account | Team
"""Who is given a role."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A role that was given to the account ``holder``, or to the team of that name."""

    holder: AccountName
    is_team: bool
    role: Role

    @property
    def written(self) -> str:
        """The holder as ``find_holder`` reads it."""
        return f"{TEAM if self.is_team else ''}{self.holder}"


class Roles:
    """The roles of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def grant(self, place: Place, holder: Holder, role: Role | None) -> None:
        """Give a role, instead of the one that ``holder`` may have there; ``None`` takes it away."""
        keys = {**_of_place(place), **_of_holder(holder)}
        async with self._database.writing() as connection:
            await connection.execute(delete(grants).filter_by(**keys))
            if role is not None:
                row = {**keys, "role": role.value, "granted_at": self._now()}
                await connection.execute(insert(grants).values(row))

    async def of(self, account_id: AccountId, dataset_id: DatasetId, owner_id: AccountId) -> Role | None:
        """The highest role of an account in a dataset of ``owner_id``."""
        places = or_(grants.c.dataset_id == str(dataset_id), grants.c.in_account_id == str(owner_id))
        return await self._highest(account_id, places)

    async def in_account(self, account_id: AccountId, owner_id: AccountId) -> Role | None:
        """The highest role of an account in all datasets of ``owner_id``."""
        return await self._highest(account_id, grants.c.in_account_id == str(owner_id))

    async def held(self, place: Place, holder: Holder) -> Role | None:
        """The role that was given to ``holder`` itself at ``place``."""
        query = select(grants.c.role).filter_by(**_of_place(place), **_of_holder(holder))
        async with self._database.reading() as connection:
            found = (await connection.execute(query)).scalar()
        return None if found is None else Role(found)

    async def list(self, place: Place) -> list[Grant]:
        """The roles that were given at ``place``, by holder, accounts first."""
        query = (
            select(grants.c.role, accounts.c.name, teams.c.name.label("team"))
            .select_from(grants.outerjoin(accounts, accounts.c.id == grants.c.account_id))
            .outerjoin(teams, teams.c.id == grants.c.team_id)
            .filter_by(**_of_place(place))
        )
        async with self._database.reading() as connection:
            found = [_grant(row) for row in await connection.execute(query)]
        return sorted(found, key=lambda grant: (grant.is_team, grant.holder.folded))

    async def _highest(self, account_id: AccountId, places: ColumnElement[bool]) -> Role | None:
        own_teams = select(team_members.c.team_id).where(team_members.c.account_id == str(account_id))
        holders = or_(grants.c.account_id == str(account_id), grants.c.team_id.in_(own_teams))
        async with self._database.reading() as connection:
            found = (await connection.execute(select(grants.c.role).where(and_(places, holders)))).scalars().all()
        return max(map(Role, found), key=lambda role: role.level, default=None)


async def find_holder(text: str, owner: Account, accounts: Accounts, teams: Teams) -> Holder:
    """The account, or for ``team:NAME`` the team of ``owner``; ``NotFound`` when there is none."""
    if text.startswith(TEAM):
        return await teams.find(owner, AccountName(text.removeprefix(TEAM)))
    return await accounts.find(AccountName(text))


def _of_place(place: Place) -> dict[str, str | None]:
    is_dataset = isinstance(place, DatasetId)
    return {"dataset_id": str(place) if is_dataset else None, "in_account_id": None if is_dataset else str(place)}


def _of_holder(holder: Holder) -> dict[str, str | int | None]:
    if isinstance(holder, Team):
        return {"account_id": None, "team_id": holder.id}
    return {"account_id": str(holder.id), "team_id": None}


def _grant(row: Any) -> Grant:
    return Grant(AccountName(row.team or row.name), row.team is not None, Role(row.role))
