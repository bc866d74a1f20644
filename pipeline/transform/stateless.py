"""Which queries of the engine ``spark`` give each row because of one record alone, in the order of the records.

For those it does not matter in how many partitions the records are: what comes out is the same as of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from pipeline.epochs.classify import STATELESS, SUBQUERIES
from pipeline.gate import Node, short, walk

_LEAVES: Final = frozenset({"LocalRelation", "LogicalRelation", "OneRowRelation"})
_PARTS_BY_WITH: Final = frozenset({"CTERelationDef", "CTERelationRef", "WithCTE"})
"""Spark puts each where it is used, for none gives another result each time."""
_END: Final[Node] = {}


def is_stateless(plan: Sequence[Node]) -> bool:
    """Whether all of a plan goes record by record; ``plan`` are its nodes, those above before those below."""
    return all(_is_stateless(node, below) for node, below in pairwise([*plan, _END])) and not any(
        short(part) in SUBQUERIES for node in plan for part in walk(node)
    )


def _is_stateless(node: Node, below: Node) -> bool:
    """A repartition is ours, for queries cannot have one, and so is the sort that puts its records in their order."""
    kind = short(node)
    is_ours = "Repartition" in (kind, short(below))
    return is_ours or kind in STATELESS | _LEAVES | _PARTS_BY_WITH
