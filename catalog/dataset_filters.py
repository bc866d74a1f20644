"""Which datasets a list is about: those with some words, of some kind, account, keyword, licence, standing or age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, case, column, exists, func, literal_column, select

from catalog.facts_tables import dataset_facts
from catalog.search_tables import dataset_words
from catalog.search_words import question_of
from catalog.standings import Standing
from catalog.tables import datasets, reports
from opendatafabric.did import AccountId


@dataclass(frozen=True, slots=True)
class Filters:
    """All of them have to hold; ``words`` as they were typed. ``updated_since`` and ``updated_before`` in seconds since
    1970; ``license`` and ``keyword`` whatever their case."""

    words: str = ""
    kind: str | None = None
    standing: Standing | None = None
    license: str | None = None
    keyword: str | None = None
    owner: AccountId | None = None
    updated_since: float | None = None
    updated_before: float | None = None

    @property
    def question(self) -> str | None:
        """For the index of words, if it is asked."""
        return question_of(self.words)


_LAST: Final = (
    select(
        case(
            (reports.c.verdict == "invalid", Standing.FAILING.value),
            (reports.c.verdict != "valid", Standing.UNKNOWN.value),
            (reports.c.head == dataset_facts.c.head, Standing.VERIFIED.value),
            else_=Standing.STALE.value,
        )
    )
    .where(reports.c.dataset_id == dataset_facts.c.dataset_id)
    .order_by(reports.c.ended_at.desc(), reports.c.hash)
    .limit(1)
    .correlate(dataset_facts)
    .scalar_subquery()
)
STANDING: Final[ColumnElement[str]] = func.coalesce(_LAST, Standing.UNKNOWN.value)
"""How a dataset stands by its last report."""

LICENSE: Final[ColumnElement[str | None]] = func.coalesce(
    func.json_extract(dataset_facts.c.license, "$.spdx_id"), func.json_extract(dataset_facts.c.license, "$.short_name")
)
"""What its licence is called in a word."""


def conditions(filters: Filters) -> list[ColumnElement[bool]]:
    """Of all filters."""
    return [*narrowing(filters), *choosing(filters).values()]


def narrowing(filters: Filters) -> list[ColumnElement[bool]]:
    """Of those among whose values nobody chooses."""
    facts, found = dataset_facts.c, filters.question
    wanted: dict[str, ColumnElement[bool] | None] = {
        "words": None if found is None else dataset_words.c.dataset_words.op("MATCH")(found),
        "owner": None if filters.owner is None else datasets.c.owner_id == str(filters.owner),
        "keyword": None if filters.keyword is None else _has_keyword(filters.keyword),
        "since": None if filters.updated_since is None else facts.updated_at >= filters.updated_since,
        "before": None if filters.updated_before is None else facts.updated_at < filters.updated_before,
    }
    return [each for each in wanted.values() if each is not None]


def choosing(filters: Filters) -> dict[str, ColumnElement[bool]]:
    """Of those that have a few values, by their names."""
    wanted: dict[str, ColumnElement[bool] | None] = {
        "kind": None if filters.kind is None else dataset_facts.c.kind == filters.kind,
        "standing": None if filters.standing is None else STANDING.in_([filters.standing.value]),
        "license": None if filters.license is None else _is_licensed(filters.license),
    }
    return {name: each for name, each in wanted.items() if each is not None}


def _is_licensed(name: str) -> ColumnElement[bool]:
    return func.lower(LICENSE) == func.lower(name)


def _has_keyword(keyword: str) -> ColumnElement[bool]:
    each = func.json_each(dataset_facts.c.keywords).table_valued(column("value"))
    return exists(select(literal_column("1")).select_from(each).where(func.lower(each.c.value) == func.lower(keyword)))
