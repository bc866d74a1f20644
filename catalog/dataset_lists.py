"""Lists of datasets for whoever looks: only what they may see is in them, and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import FromClause, Row, Select, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.accounts import Account
from catalog.dataset_filters import LICENSE, STANDING, Filters, conditions, narrowing
from catalog.dataset_order import RANK, Order, Place, comes_after, id_in, terms_of, value_in
from catalog.engine import Database
from catalog.facts_tables import dataset_facts
from catalog.list_permissions import may_list
from catalog.search_tables import dataset_texts, dataset_words
from catalog.standings import Standing
from catalog.tables import datasets, reports
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.index_limits import COUNTED_DATASETS_MAX

EVERYTHING: Final = Filters()


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """What a list tells of a dataset; times in seconds since 1970, ``license`` in a word."""

    id: DatasetId
    alias: DatasetAlias
    visibility: Visibility
    kind: str
    blocks: int
    records: int
    bytes: int
    updated_at: float
    description: str | None
    license: str | None
    standing: Standing
    place: Place
    """Where in the list it stands."""


@dataclass(frozen=True, slots=True)
class ListedVerdict:
    """A dataset and when it was verified."""

    dataset: ListedDataset
    verified_at: float


@dataclass(frozen=True, slots=True)
class Counts:
    """How many datasets there are, or ``None`` of more than are counted. By kind, standing and licence: as many as
    there would be if that was chosen instead of what is."""

    total: int | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    standings: Mapping[str, int] = field(default_factory=dict)
    licenses: Mapping[str, int] = field(default_factory=dict)


_SOUND: Final = frozenset({Standing.VERIFIED, Standing.STALE})


class DatasetLists:
    """The lists of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self,
        reader: Account | None,
        *,
        filters: Filters = EVERYTHING,
        order: Order = Order.NEWEST,
        count: int,
        after: Place | None = None,
    ) -> Sequence[ListedDataset]:
        """``count`` datasets after that place, or from the first one on."""
        order = Order.NEWEST if order is Order.RELEVANCE and filters.question is None else order
        async with self._database.reading() as connection:
            if after is not None and order is Order.RELEVANCE:
                after = await _now_at(connection, after, filters)
            query = _page(reader, filters, order, after).limit(count)
            return [_listed(row) for row in await connection.execute(_told(query, order))]

    async def counted(self, reader: Account | None, filters: Filters = EVERYTHING) -> Counts:
        """How many datasets hold the filters."""
        told = (dataset_facts.c.kind, STANDING.label("standing"), LICENSE.label("license"))
        some = _seen(reader, filters, *told).where(*narrowing(filters)).limit(COUNTED_DATASETS_MAX + 1).subquery()
        query = select(*some.c, func.count().label("datasets")).group_by(*some.c)
        async with self._database.reading() as connection:
            rows: list[Row[Any]] = [*await connection.execute(query)]
        if sum(row.datasets for row in rows) > COUNTED_DATASETS_MAX:
            return Counts()
        return _counts(rows, filters)

    async def verified(self, reader: Account | None, *, count: int) -> Sequence[ListedVerdict]:
        """The datasets that were found valid last, and not damaged since."""
        query = (
            _seen(reader, EVERYTHING, reports.c.dataset_id, reports.c.ended_at)
            .join(reports, reports.c.dataset_id == datasets.c.id)
            .where(reports.c.verdict == "valid")
            .order_by(reports.c.ended_at.desc())
            .limit(count * 4)
        )
        async with self._database.reading() as connection:
            newest: dict[str, float] = {}
            for row in await connection.execute(query):
                newest.setdefault(row.dataset_id, row.ended_at)
            shown = [*newest]
            these = select(dataset_facts.c.dataset_id.label("id"), literal_column("0.0").label("place"))
            rows = await connection.execute(_told(these.where(dataset_facts.c.dataset_id.in_(shown)), None))
            known = {row.id: _listed(row) for row in rows}
        sound = [known[each] for each in shown if each in known and known[each].standing in _SOUND]
        return [ListedVerdict(each, newest[str(each.id)]) for each in sound][:count]


async def _now_at(connection: AsyncConnection, place: Place, filters: Filters) -> Place:
    """Ranks shift a little with every dataset that comes: where the last one that was shown stands now."""
    query = (
        select(RANK)
        .select_from(_WITH_WORDS)
        .where(*narrowing(Filters(words=filters.words)), dataset_texts.c.dataset_id == place.id)
    )
    rank = (await connection.execute(query)).scalar()
    return place if rank is None else replace(place, value=rank)


def _page(reader: Account | None, filters: Filters, order: Order, after: Place | None) -> Select[Any]:
    """Ids and places of a list, as little as is needed to put it in order."""
    query = _seen(reader, filters, id_in(order).label("id"), value_in(order).label("place"), order=order)
    query = query.where(*conditions(filters)).order_by(*terms_of(order))
    return query if after is None else query.where(comes_after(order, after))


def _seen(reader: Account | None, filters: Filters, *columns: Any, order: Order | None = None) -> Select[Any]:
    return select(*columns).select_from(_tables(filters, order)).where(may_list(reader))


_WITH_WORDS: Final = dataset_words.join(dataset_texts, dataset_texts.c.id == dataset_words.c.rowid)
_OF_WORDS: Final = _WITH_WORDS.join(datasets, datasets.c.id == dataset_texts.c.dataset_id).join(
    dataset_facts, dataset_facts.c.dataset_id == dataset_texts.c.dataset_id, isouter=True
)
"""Facts are there for each; as an outer join they are looked up only where a filter or an order needs them."""
_OF_DATASETS: Final = datasets.join(dataset_facts, dataset_facts.c.dataset_id == datasets.c.id)
# The plus keeps SQLite from asking for the facts by id: they are read in the order that their index has ready.
_OF_FACTS: Final = dataset_facts.join(datasets, literal_column("+dataset_facts.dataset_id") == datasets.c.id)


def _tables(filters: Filters, order: Order | None) -> FromClause:
    if filters.question is not None:
        return _OF_WORDS
    in_order = order in {Order.NEWEST, Order.SIZE} and filters.owner is None
    return _OF_FACTS if in_order else _OF_DATASETS


def _told(query: Select[Any], order: Order | None) -> Select[Any]:
    """Everything that is told of the datasets of ``query``."""
    page, facts = query.cte("page"), dataset_facts.c
    told = (facts.kind, facts.blocks, facts.records, facts.bytes, facts.updated_at, facts.description)
    of_list = page.join(datasets, datasets.c.id == page.c.id).join(dataset_facts, facts.dataset_id == page.c.id)
    columns = (page.c.id, page.c.place, datasets.c.alias, datasets.c.visibility, *told)
    found = select(*columns, LICENSE.label("license"), STANDING.label("standing")).select_from(of_list)
    terms = (page.c.place, page.c.id)
    return found.order_by(*(term.desc() for term in terms) if order in {Order.NEWEST, Order.SIZE} else terms)


def _counts(rows: Sequence[Row[Any]], filters: Filters) -> Counts:
    chosen = {
        "kind": filters.kind,
        "standing": None if filters.standing is None else filters.standing.value,
        "license": None if filters.license is None else filters.license.lower(),
    }

    def by(name: str | None) -> dict[str, int]:
        found: dict[str, int] = {}
        for row in rows:
            values = {"kind": row.kind, "standing": row.standing, "license": (row.license or "").lower()}
            if all(wanted in {None, values[each]} for each, wanted in chosen.items() if each != name):
                label = "" if name is None else getattr(row, name) or ""
                found[label] = found.get(label, 0) + row.datasets
        return found

    licenses = {name: count for name, count in by("license").items() if name}
    return Counts(by(None).get("", 0), by("kind"), by("standing"), licenses)


def _listed(row: Row[Any]) -> ListedDataset:
    return ListedDataset(
        DatasetId.from_text(row.id),
        DatasetAlias.from_text(row.alias),
        Visibility(row.visibility),
        row.kind,
        row.blocks,
        row.records,
        row.bytes,
        row.updated_at,
        row.description,
        row.license,
        Standing(row.standing),
        Place(row.place, row.id),
    )
