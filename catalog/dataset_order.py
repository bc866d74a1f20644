"""In which order datasets are listed, and where in it a list goes on. A place is a value and an id, so that datasets
that come or go meanwhile shift nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, func, literal_column, tuple_

from catalog.facts_tables import dataset_facts
from catalog.search_tables import WEIGHTS
from catalog.tables import datasets


class Order(StrEnum):
    """What stands first in a list."""

    RELEVANCE = "relevance"
    """The one that the words are about: those in its name count most. Without words, the newest."""
    NEWEST = "newest"
    NAME = "name"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class Place:
    """That of a dataset in an order; ``value`` is what it is ordered by."""

    value: float | str
    id: str


RANK: Final = func.bm25(literal_column("dataset_words"), *map(literal_column, map(str, WEIGHTS.values())))
"""How little a dataset is about the words: the best are far below zero."""

_VALUES: Final[Mapping[Order, Any]] = {
    Order.RELEVANCE: RANK,
    Order.NEWEST: dataset_facts.c.updated_at,
    Order.NAME: datasets.c.alias_folded,
    Order.SIZE: dataset_facts.c.bytes,
}
_DOWNWARD: Final = (Order.NEWEST, Order.SIZE)


def value_in(order: Order) -> Any:
    """What datasets are ordered by."""
    return _VALUES[order]


def terms_of(order: Order) -> tuple[Any, Any]:
    """As ``ORDER BY`` has them."""
    value, dataset_id = _VALUES[order], id_in(order)
    return (value.desc(), dataset_id.desc()) if order in _DOWNWARD else (value, dataset_id)


def comes_after(order: Order, place: Place) -> ColumnElement[bool]:
    """Which datasets follow on ``place``."""
    here, there = tuple_(_VALUES[order], id_in(order)), tuple_(place.value, place.id)
    return here < there if order in _DOWNWARD else here > there


def id_in(order: Order) -> Any:
    """The id, of the table that is ordered: so an index has the order ready."""
    return dataset_facts.c.dataset_id if order in _DOWNWARD else datasets.c.id
