"""Histories of two inputs as they happen: in one block or in many, late, corrected, with columns that came later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.slice_format import TIMESTAMP

Row = dict[str, Any]

ORDERS: Final = pa.schema(
    [
        ("event_time", TIMESTAMP),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("at", pa.date32()),
        ("score", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
    ]
)
LABELS: Final = pa.schema([("event_time", TIMESTAMP), ("key", pa.int64()), ("label", pa.string())])
WIDER: Final = ORDERS.append(pa.field("note", pa.string()))
"""What the first input has from a block on where its schema evolves."""

_NAMES: Final = ("Ada", "bob", None, "Žilina", "ada ", "")


def order(number: int, op: int = 0, **changed: Any) -> Row:
    """A record of the first input. Each column is null somewhere, or empty, or the other way round."""
    row = {
        "op": op,
        "event_time": datetime(2024, 1, 1 + number, 12, 30, 15, 250_000, UTC),
        "id": number,
        "name": _NAMES[number % len(_NAMES)],
        "amount": None if number % 7 == 6 else Decimal(number * 995 - 1_500).scaleb(-2),
        "at": date(2023, 12, 28) + timedelta(days=number * 9),
        "score": (None, 0.5, 3.0, -0.0, 7.25)[number % 5],
        "tags": (["x"], [], ["y", "z"], None)[number % 4],
        "place": None if number % 6 == 5 else {"city": f"c{number}", "zip": None if number % 3 == 0 else number * 10},
    }
    return {**row, **changed}


def label(key: int, text: str | None = None) -> Row:
    """A record of the second input."""
    return {"op": 0, "event_time": datetime(2024, 1, 1 + key, tzinfo=UTC), "key": key, "label": text or f"l{key}"}


@dataclass(frozen=True)
class Block:
    """What comes to one input at once. ``schema`` is the one in force from here on, where it is another."""

    input: str
    rows: Sequence[Row] = ()
    watermark: int | None = None
    schema: pa.Schema | None = None


def orders(*numbers: int, **options: Any) -> Block:
    """Appended to the first input."""
    return Block("orders", [order(number) for number in numbers], **options)


def labels(*keys: int, **options: Any) -> Block:
    """Appended to the second input."""
    return Block("labels", [label(key) for key in keys], **options)


PATTERNS: Final[Mapping[str, tuple[Block, ...]]] = {
    "one block": (labels(1, 2, 2, 9), orders(0, 1, 2, 3, 4, 5, 6)),
    "many blocks": (orders(0, 1, watermark=1), labels(2, 1, watermark=2), orders(2), orders(3, 4, 5), orders(6, 7)),
    "no rows": (orders(1, 2, 3, watermark=3),),
    "watermarks alone": (orders(watermark=1), orders(1, 2), orders(watermark=5), labels(1), labels(watermark=6)),
    "two inputs in turns": (orders(1, 2), labels(2), orders(3, 4), labels(3, 4), orders(5), labels(6, 1)),
    "late": (orders(7, 8, watermark=20), labels(8, 1, watermark=25), orders(1, 9, 0, watermark=20), labels(0)),
    "corrections": (
        orders(1, 2, 4, 6),
        labels(1, 4),
        Block("orders", [order(1, op=2), order(1, op=3, score=8.5, name="Eve", tags=["p", "q"], id=10)]),
        Block("orders", [order(4, op=1), order(2, op=2), order(2, op=3, score=1.0, tags=["w"]), order(6, op=1)]),
        Block("orders", [order(7), order(10, op=2), order(11, op=3), order(5, op=2), order(3, op=3, id=-1)]),
    ),
    "a column that came later": (
        orders(1, 2),
        labels(2),
        Block("orders", [order(3, note="new"), order(4, note=None)], schema=WIDER),
        orders(5),
    ),
}
"""By what is special in them, over the inputs ``orders`` and ``labels``. Corrections come in one block."""
