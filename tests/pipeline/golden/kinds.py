"""What people ask of their data, one query of each kind, and the same worked out without any engine.

Kinds that look at one record at a time are computed row by row in plain Python, the others from all records that
a step sees together. Texts are for every engine unless one is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.slice_format import TIMESTAMP
from tests.pipeline.golden.inputs import Row

Given = Mapping[str, Sequence[Row]]
PerRow = Callable[[Row], list[Row]]
_TIME: Final = ("event_time", TIMESTAMP)


@dataclass(frozen=True)
class Kind:
    """Queries of one kind. ``{op}`` stands where ``op`` may be selected; ``columns`` are those of the result.

    ``per_row`` is what each record of each input gives, in the order of the inputs; ``together`` what all of them do.
    """

    steps: tuple[str, ...]
    columns: tuple[tuple[str, Any], ...]
    per_row: Mapping[str, PerRow] = field(default_factory=dict)
    together: Callable[[Given], Sequence[Row]] | None = None
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def queries(self, engine: str, *, with_op: bool) -> list[str]:
        """For an engine."""
        chosen = self.instead.get(engine, self.steps)
        return [text.format(op="op, " if with_op else "") for text in chosen]

    @property
    def is_stateless(self) -> bool:
        """Whether each row comes from one record."""
        return self.together is None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those that the queries name."""
        text = " ".join(self.steps)
        return tuple(name for name in ("orders", "labels") if name in text)


def one(**values: Callable[[Row], Any]) -> PerRow:
    """One row of each record."""
    return lambda row: [{name: value(row) for name, value in values.items()}]


def at(row: Row) -> Any:
    return row["event_time"]


def of(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]


def known(name: str, compute: Callable[[Any], Any]) -> Callable[[Row], Any]:
    """Null of null."""
    return lambda row: None if row[name] is None else compute(row[name])


def where(holds: Callable[[Row], bool], gives: PerRow) -> PerRow:
    return lambda row: gives(row) if holds(row) else []


def level(row: Row) -> str:
    score = row["score"]
    return "none" if score is None else "high" if score >= 3 else "low"


def rounded(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.1"), ROUND_HALF_UP)


def joined(given: Given, *, outer: bool) -> list[Row]:
    """Each order with the labels of its number."""
    found: list[Row] = []
    for row in sorted(given["orders"], key=lambda row: (row["id"], row["event_time"])):
        texts: list[str | None] = sorted(each["label"] for each in given["labels"] if each["key"] == row["id"])
        found += [{"event_time": at(row), "id": row["id"], "label": text} for text in texts or [None] * outer]
    return found


def by_name(given: Given) -> dict[str | None, list[Row]]:
    """Orders of each name, the nameless first, names in the order of their bytes."""
    groups: dict[str | None, list[Row]] = {}
    for row in sorted(given["orders"], key=lambda row: (row["name"] is not None, (row["name"] or "").encode())):
        groups.setdefault(row["name"], []).append(row)
    return groups


def grouped(given: Given) -> list[Row]:
    return [
        {
            "event_time": max(map(at, rows)),
            "name": name,
            "n": len(rows),
            "total": sum(row["id"] for row in rows),
            "low": min((row["score"] for row in rows if row["score"] is not None), default=None),
        }
        for name, rows in by_name(given).items()
    ]


def over_window(given: Given) -> list[Row]:
    seen: defaultdict[str | None, list[int]] = defaultdict(list)
    found = []
    for row in given["orders"]:
        seen[row["name"]].append(row["id"])
        ids = seen[row["name"]]
        found.append(
            {**{name: row[name] for name in ("event_time", "id", "name")}, "place": len(ids), "running": sum(ids)}
        )
    return found


_JOIN = (
    "select o.event_time, o.id, l.label from orders o {how} join labels l on o.id = l.key"
    " order by o.id, o.event_time, l.label nulls first"
)

KINDS: Final[Mapping[str, Kind]] = {
    "map": Kind(
        ("select {op}event_time, id, score * 2 as twice, id + 1 as next from orders",),
        (_TIME, ("id", pa.int64()), ("twice", pa.float64()), ("next", pa.int64())),
        {
            "orders": one(
                event_time=at, id=of("id"), twice=known("score", lambda s: s * 2), next=lambda row: row["id"] + 1
            )
        },
    ),
    "filter": Kind(
        ("select {op}event_time, id, place from orders where score > 0.75 and name is not null",),
        (_TIME, ("id", pa.int64()), ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())]))),
        {
            "orders": where(
                lambda row: (row["score"] or 0) > 0.75 and row["name"] is not None,
                one(event_time=at, id=of("id"), place=of("place")),
            )
        },
    ),
    "case": Kind(
        (
            "select {op}event_time, case when score >= 3 then 'high' when score is null then 'none' else 'low' end"
            " as level from orders",
        ),
        (_TIME, ("level", pa.string())),
        {"orders": one(event_time=at, level=level)},
    ),
    "dates": Kind(
        (
            "select {op}event_time, year(at) as y, date_add(at, 7) as later, date_trunc('month', event_time) as month,"
            " month(event_time) as m from orders",
        ),
        (_TIME, ("y", pa.int32()), ("later", pa.date32()), ("month", TIMESTAMP), ("m", pa.int32())),
        {
            "orders": one(
                event_time=at,
                y=lambda row: row["at"].year,
                later=lambda row: row["at"] + timedelta(days=7),
                month=lambda row: row["event_time"].replace(day=1, hour=0, minute=0, second=0, microsecond=0),
                m=lambda row: row["event_time"].astimezone(UTC).month,
            )
        },
        instead={
            "datafusion": (
                "select {op}event_time, date_part('year', at) as y, cast(at + interval '7' day as date) as later,"
                " date_trunc('month', event_time) as month, date_part('month', event_time) as m from orders",
            )
        },
    ),
    "strings": Kind(
        (
            "select {op}event_time, upper(name) as upper, substr(name, 2, 2) as part, name || '-' || id as key,"
            " replace(trim(name), 'a', 'o') as trimmed from orders",
        ),
        (_TIME, *((name, pa.string()) for name in ("upper", "part", "key", "trimmed"))),
        {
            "orders": one(
                event_time=at,
                upper=known("name", str.upper),
                part=known("name", lambda name: name[1:3]),
                key=lambda row: None if row["name"] is None else f"{row['name']}-{row['id']}",
                trimmed=known("name", lambda name: name.strip().replace("a", "o")),
            )
        },
    ),
    "decimals": Kind(
        (
            "select {op}event_time, amount + amount as twice, amount * cast(3 as decimal(3,0)) as thrice,"
            " cast(amount as decimal(12,1)) as rounded from orders where amount <> 0",
        ),
        (_TIME, ("twice", pa.decimal128(11, 2)), ("thrice", pa.decimal128(14, 2)), ("rounded", pa.decimal128(12, 1))),
        {
            "orders": where(
                lambda row: bool(row["amount"]),
                one(
                    event_time=at,
                    twice=lambda row: row["amount"] * 2,
                    thrice=lambda row: row["amount"] * 3,
                    rounded=lambda row: rounded(row["amount"]),
                ),
            )
        },
    ),
    "nested": Kind(
        ("select {op}event_time, place.city as city, tags, named_struct('n', id, 'of', name) as made from orders",),
        (
            _TIME,
            ("city", pa.string()),
            ("tags", pa.list_(pa.string())),
            ("made", pa.struct([("n", pa.int64()), ("of", pa.string())])),
        ),
        {
            "orders": one(
                event_time=at,
                city=known("place", lambda place: place["city"]),
                tags=of("tags"),
                made=lambda row: {"n": row["id"], "of": row["name"]},
            )
        },
        instead={
            "datafusion": (
                "select {op}event_time, place['city'] as city, tags, named_struct('n', id, 'of', name) as made"
                " from orders",
            )
        },
    ),
    "explode": Kind(
        ("select {op}event_time, id, tag from orders lateral view explode(tags) as tag",),
        (_TIME, ("id", pa.int64()), ("tag", pa.string())),
        {"orders": lambda row: [{"event_time": at(row), "id": row["id"], "tag": tag} for tag in row["tags"] or ()]},
        instead={"datafusion": ("select {op}event_time, id, unnest(tags) as tag from orders",)},
    ),
    "union": Kind(
        (
            "select {op}event_time, id, name from orders where id > 1"
            " union all select {op}event_time, key as id, label as name from labels",
        ),
        (_TIME, ("id", pa.int64()), ("name", pa.string())),
        {
            "orders": where(lambda row: row["id"] > 1, one(event_time=at, id=of("id"), name=of("name"))),
            "labels": one(event_time=at, id=of("key"), name=of("label")),
        },
    ),
    "steps": Kind(
        (
            "select * from orders where id > 1",
            "select {op}event_time, id * 10 as ten, score from step_0",
            "with named as (select * from step_1 where score > -1)"
            " select {op}event_time, ten, score + 1 as more from named",
        ),
        (_TIME, ("ten", pa.int64()), ("more", pa.float64())),
        {
            "orders": where(
                lambda row: row["id"] > 1 and row["score"] is not None,
                one(event_time=at, ten=lambda row: row["id"] * 10, more=lambda row: row["score"] + 1),
            )
        },
    ),
    "nothing": Kind(
        ("select {op}event_time, id from orders where id > 1000",),
        (_TIME, ("id", pa.int64())),
        {"orders": lambda _: []},
    ),
    "join": Kind(
        (_JOIN.format(how="inner"),),
        (_TIME, ("id", pa.int64()), ("label", pa.string())),
        together=lambda given: joined(given, outer=False),
    ),
    "outer join": Kind(
        (_JOIN.format(how="left"),),
        (_TIME, ("id", pa.int64()), ("label", pa.string())),
        together=lambda given: joined(given, outer=True),
    ),
    "group by": Kind(
        (
            "select max(event_time) as event_time, name, count(*) as n, sum(id) as total, min(score) as low"
            " from orders group by name order by name nulls first",
        ),
        (_TIME, ("name", pa.string()), ("n", pa.int64()), ("total", pa.int64()), ("low", pa.float64())),
        together=grouped,
    ),
    "window function": Kind(
        (
            "select event_time, id, name,"
            " cast(row_number() over (partition by name order by offset) as bigint) as place,"
            " sum(id) over (partition by name order by offset) as running from orders order by offset",
        ),
        (
            _TIME,
            ("id", pa.int64()),
            ("name", pa.string()),
            ("place", pa.int64()),
            ("running", pa.int64()),
        ),
        together=over_window,
    ),
}
"""By what they do."""
