"""Aggregates whose result does not depend on the order of records: for windows are computed in any order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import InvalidQuery
from pipeline.sql_text import place_of

_OF_ANY: Final = frozenset(
    {"BitAndAgg", "BitOrAgg", "BitXorAgg", "BoolAnd", "BoolOr", "Count", "CountIf", "HyperLogLogPlusPlus"}
)
_OF_EXACT: Final = frozenset({"Max", "Min", "Sum"})
_WORDS: Final = {"Average": ("avg", "mean"), "Sum": ("sum", "try_sum")}
_INEXACT: Final = ("float", "double", "array", "map", "struct", "variant")


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate of a query: the class of its function, the types of what it is given.

    ``is_plain`` says that it is given a column of an input as it is.
    """

    kind: str
    types: tuple[str, ...]
    is_plain: bool = False


def check_aggregates(sql: str, found: Iterable[Aggregated]) -> None:
    """That none of them depends on the order of records.

    Raises:
        InvalidQuery: one does; names it, its place and what to write instead.
    """
    for each in found:
        if each.kind not in _OF_ANY | _OF_EXACT or (each.kind == "Sum" and place_of(sql, "try_sum")):
            raise InvalidQuery(
                f"the query has an aggregate that may depend on the order of records: {_named(sql, each)}",
                hint="use count, sum, min, max, bool_and, bool_or …; instead of avg(x) write sum(x) / count(x)",
            )
        if each.kind in _OF_EXACT and _is_inexact(each):
            raise InvalidQuery(
                f"the query aggregates {each.types[0]}, which depends on the order of records: {_named(sql, each)}",
                hint="make it exact: sum(cast(x as decimal(18, 6)))",
            )


def _is_inexact(aggregated: Aggregated) -> bool:
    """Of floating numbers the sum is one of many; the least is one of two zeros if it is computed."""
    inexact = any(each.startswith(_INEXACT) for each in aggregated.types)
    return inexact and not (aggregated.kind != "Sum" and aggregated.is_plain and aggregated.types[0] in _INEXACT[:2])


def _named(sql: str, aggregated: Aggregated) -> str:
    words = _WORDS.get(aggregated.kind, (aggregated.kind.lower(),))
    return aggregated.kind + next(filter(None, (place_of(sql, word) for word in words)), "")
