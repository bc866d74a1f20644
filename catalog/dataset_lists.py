"""Lists of datasets for whoever looks: only what they may see is in them, and nothing that is unlisted.

Unlisted and private datasets are listed to their owners and to those who were given a role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, and_, exists, or_, select, true

from catalog.accounts import Account
from catalog.engine import Database
from catalog.facts_tables import dataset_facts
from catalog.lifecycle_tables import tombstones
from catalog.role_tables import grants, team_members
from catalog.tables import datasets, reports
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId

_WORDS_MAX: Final = 10


class Order(Enum):
    """What stands first in a list."""

    NEWEST = "newest"
    LARGEST = "largest"
    NAME = "name"


_ORDERS: Final[dict[Order, tuple[Any, ...]]] = {
    Order.NEWEST: (dataset_facts.c.updated_at.desc(), datasets.c.id),
    Order.LARGEST: (dataset_facts.c.records.desc(), datasets.c.id),
    Order.NAME: (datasets.c.alias_folded,),
}


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """What a list tells of a dataset; times in seconds since 1970."""

    id: DatasetId
    alias: DatasetAlias
    visibility: Visibility
    kind: str
    records: int
    bytes: int
    updated_at: float
    description: str | None


@dataclass(frozen=True, slots=True)
class ListedVerdict:
    """A dataset and when it was verified."""

    dataset: ListedDataset
    verified_at: float


class DatasetLists:
    """The lists of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self,
        reader: Account | None,
        *,
        order: Order = Order.NEWEST,
        words: Sequence[str] = (),
        owner: AccountId | None = None,
        count: int,
        after: int = 0,
    ) -> Sequence[ListedDataset]:
        """``count`` datasets after the first ``after`` ones; with ``words`` those that hold each of them."""
        query = _query(reader).where(*_holding(words)).order_by(*_ORDERS[order]).limit(count).offset(after)
        if owner is not None:
            query = query.where(datasets.c.owner_id == str(owner))
        async with self._database.reading() as connection:
            return [_listed(row) for row in await connection.execute(query)]

    async def verified(self, reader: Account | None, *, count: int) -> Sequence[ListedVerdict]:
        """The datasets whose verification was the last to find them valid."""
        query = (
            _query(reader)
            .add_columns(reports.c.ended_at)
            .join(reports, reports.c.dataset_id == datasets.c.id)
            .where(reports.c.verdict == "valid")
            .order_by(reports.c.ended_at.desc())
            .limit(count * 4)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        newest: dict[str, ListedVerdict] = {}
        for row in rows:
            newest.setdefault(row.id, ListedVerdict(_listed(row), row.ended_at))
        return [*newest.values()][:count]


def may_list(reader: Account | None) -> ColumnElement[bool]:
    """Which rows of ``datasets`` are listed to ``reader`` (``None``: anybody)."""
    return and_(is_here(), _may_see(reader))


def is_here() -> ColumnElement[bool]:
    """Which rows of ``datasets`` are those of datasets that were not deleted: these are kept, for nobody."""
    return ~exists().where(tombstones.c.dataset_id == datasets.c.id, tombstones.c.kept_until.is_not(None))


def _may_see(reader: Account | None) -> ColumnElement[bool]:
    public = datasets.c.visibility == Visibility.PUBLIC.value
    if reader is None:
        return public
    if reader.is_admin:
        return true()
    own_teams = select(team_members.c.team_id).where(team_members.c.account_id == str(reader.id))
    held = or_(grants.c.account_id == str(reader.id), grants.c.team_id.in_(own_teams))
    return or_(
        public,
        datasets.c.owner_id == str(reader.id),
        datasets.c.id.in_(select(grants.c.dataset_id).where(held, grants.c.dataset_id.is_not(None))),
        datasets.c.owner_id.in_(select(grants.c.in_account_id).where(held, grants.c.in_account_id.is_not(None))),
    )


def _query(reader: Account | None) -> Select[Any]:
    facts = dataset_facts.c
    told = (facts.kind, facts.records, facts.bytes, facts.updated_at, facts.description)
    of_both = dataset_facts.c.dataset_id == datasets.c.id
    columns = (datasets.c.id, datasets.c.alias, datasets.c.visibility, *told)
    return select(*columns).select_from(datasets.join(dataset_facts, of_both)).where(may_list(reader))


def _holding(words: Sequence[str]) -> Sequence[ColumnElement[bool]]:
    facts = dataset_facts.c
    places = (datasets.c.alias_folded, facts.description, facts.keywords, facts.columns)
    return [
        and_(true(), or_(*(place.icontains(word, autoescape=True) for place in places))) for word in words[:_WORDS_MAX]
    ]


def _listed(row: Row[Any]) -> ListedDataset:
    return ListedDataset(
        DatasetId.from_text(row.id),
        DatasetAlias.from_text(row.alias),
        Visibility(row.visibility),
        row.kind,
        row.records,
        row.bytes,
        row.updated_at,
        row.description,
    )
