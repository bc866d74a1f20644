"""Joins with what an input had at the time of each record: with a temporal table (spec: TemporalTable).

Queries see such an input as versions, each with the times between which it was valid. Those of an earlier time than the
watermark are all known, so a record has met what it can when the watermark has reached its time. When a version ends is
known only when the next one is there: that may be compared with times of records, and is no part of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import TemporalTable
from pipeline.epochs.join_plan import INNER, PlannedJoin
from pipeline.epochs.plan_tree import InputColumn, Plan, columns_of, number_of
from pipeline.epochs.temporal_tables import VALID_FROM, VALID_TO
from pipeline.epochs.time_bounds import AtMost
from pipeline.gate import Node, short, walk

_HINT: Final = "ON l.key = r.key AND l.event_time >= r.valid_from AND l.event_time < r.valid_to"


@dataclass(frozen=True, slots=True)
class AsOfJoin:
    """The inputs by their numbers; versions of one ``primary_key`` follow each other."""

    records: int
    versions: int
    primary_key: tuple[str, ...]
    records_come_first: bool


def as_of_join_of(
    planned: PlannedJoin, event_times: Mapping[str, str], tables: Mapping[str, TemporalTable]
) -> AsOfJoin | None:
    """``None`` if no side is a temporal table; ``event_times`` are the columns of all inputs, in their order.

    Raises:
        InvalidQuery: it asks for more than the versions of the times of records.
    """
    left, right = planned.sides()
    if left not in tables and right not in tables:
        return None
    if left in tables and right in tables:
        raise planned.refused("both sides are temporal tables", "join records with a temporal table")
    is_right = right in tables
    records, versions = (left, right) if is_right else (right, left)
    if planned.kind not in (*INNER, "LeftOuter$" if is_right else "RightOuter$"):
        raise planned.refused(f"it keeps versions of '{versions}' that no record meets", "write JOIN or LEFT JOIN")
    _check_valid(planned, InputColumn(records, event_times[records]), versions)
    inputs = list(event_times)
    return AsOfJoin(inputs.index(records), inputs.index(versions), tables[versions].primary_key, is_right)


def _check_valid(planned: PlannedJoin, time: InputColumn, versions: str) -> None:
    times = columns_of(planned.join, {time})
    begins = columns_of(planned.join, {InputColumn(versions, VALID_FROM)})
    ends = columns_of(planned.join, {InputColumn(versions, VALID_TO)})
    said = list(planned.said_of_times())
    is_begun = any(each.column in begins and each.other in times and each.apart_us == 0 for each in said)
    not_ended = [each for each in said if each.column in times and each.other in ends and each.apart_us == -1]
    if not is_begun or not not_ended:
        raise planned.refused(f"it does not say when a version of '{versions}' is valid", f"write {_HINT}")
    _check_ends(planned, versions, not_ended)


def _check_ends(planned: PlannedJoin, versions: str, compared: Collection[AtMost]) -> None:
    """That nothing but that comparison depends on when a version ends."""
    end = {InputColumn(versions, VALID_TO)}
    parts = [*planned.above, *planned.join.all()]
    numbers = {number for part in parts for number in columns_of(part, end)}
    asked = sum(number in numbers for part in parts for number in _computed_with(part))
    if asked > len(compared) or columns_of(parts[0], end) & set(parts[0].numbers):
        raise InvalidQuery(
            f"the query uses '{VALID_TO}' of '{versions}' for more than the join: it changes with the next version",
            hint="leave it out; instead of * name the columns",
        )


def _computed_with(part: Plan) -> Iterator[int]:
    """The columns that its expressions name, those left out that are just passed on."""
    if part.kind == "Project":
        computed = [
            each for each in part.node["projectList"] if len(each) > 2 or short(each[-1]) != "AttributeReference"
        ]
        yield from _named(computed)
    elif part.kind in ("Filter", "Join"):
        yield from _named([part.node.get("condition")])
    elif part.kind == "Generate":
        yield from _named([part.node["generator"]])


def _named(expressions: list[list[Node] | None]) -> Iterator[int]:
    for node in walk(expressions):
        if short(node) == "AttributeReference":
            yield number_of(node)
