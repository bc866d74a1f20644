"""Every strategy in every situation, as one table.

A record reads ``day city n note``, a dash is a null; in front of it stands its operation, where the source says one.
The key is ``city``. What is there before was written on the first of January, the input comes on the second.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from opendatafabric.data.changelog import OperationType
from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import (
    MergeStrategy,
    MergeStrategyAppend,
    MergeStrategyChangelogStream,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
)
from tests.pipeline.merge.scenario import Row, Scenario, record

SITUATIONS: Final = (
    "first",
    "unchanged",
    "added",
    "changed",
    "removed",
    "duplicated keys",
    "late",
    "out of order",
    "null keys",
)
STRATEGIES: Final[dict[str, MergeStrategy]] = {
    "append": MergeStrategyAppend(),
    "ledger": MergeStrategyLedger(("city",)),
    "snapshot": MergeStrategySnapshot(("city",)),
    "snapshot of n": MergeStrategySnapshot(("city",), ("n",)),
    "changelog": MergeStrategyChangelogStream(("city",)),
    "upsert": MergeStrategyUpsertStream(("city",)),
}
WITH_OPERATIONS: Final = ("changelog", "upsert")

NOTHING: Final = ""
TWO: Final = "1 a 1 x; 1 b 2 x"
TWO_ADDED: Final = "+A 1 a 1 x; +A 1 b 2 x"
COMES_AGAIN: Final = "refused: row 1 has a primary key that comes again"
NO_KEY: Final = "refused: row 1 has no 'city'"

Case = tuple[str, str, str]
"""What is there before, the input, and what it adds."""

TABLE: Final[dict[str, dict[str, Case]]] = {
    "append": {
        "first": (NOTHING, "1 b 2 x; 1 a 1 x", "+A 1 b 2 x; +A 1 a 1 x"),
        "unchanged": (TWO, TWO, TWO_ADDED),
        "added": (TWO, "2 c 3 x", "+A 2 c 3 x"),
        "changed": (TWO, "1 a 9 x", "+A 1 a 9 x"),
        "removed": (TWO, "1 a 1 x", "+A 1 a 1 x"),
        "duplicated keys": (TWO, "2 c 1 x; 2 c 2 x", "+A 2 c 1 x; +A 2 c 2 x"),
        "late": ("9 a 1 x", "2 a 2 x", "+A 2 a 2 x"),
        "out of order": (TWO, "4 c 1 x; 3 d 2 x; 3 c 3 x", "+A 3 d 2 x; +A 3 c 3 x; +A 4 c 1 x"),
        "null keys": ("1 - 1 x", "2 - 1 x; 2 - 1 x", "+A 2 - 1 x; +A 2 - 1 x"),
    },
    "ledger": {
        "first": (NOTHING, "1 b 2 x; 1 a 1 x", "+A 1 b 2 x; +A 1 a 1 x"),
        "unchanged": (TWO, TWO, NOTHING),
        "added": (TWO, f"{TWO}; 2 c 3 x", "+A 2 c 3 x"),
        "changed": (TWO, "2 a 9 y", NOTHING),
        "removed": (TWO, "1 a 1 x", NOTHING),
        "duplicated keys": (TWO, "2 c 1 x; 2 c 2 x", "+A 2 c 1 x; +A 2 c 2 x"),
        "late": ("9 a 1 x", "2 b 2 x; 2 a 2 x", "+A 2 b 2 x"),
        "out of order": (TWO, "4 c 1 x; 3 d 2 x; 3 c 3 x", "+A 3 d 2 x; +A 3 c 3 x; +A 4 c 1 x"),
        "null keys": ("1 - 1 x", "2 - 1 x; 2 - 2 x", "+A 2 - 1 x; +A 2 - 2 x"),
    },
    "snapshot": {
        "first": (NOTHING, "1 b 2 x; 1 a 1 x", TWO_ADDED),
        "unchanged": (TWO, TWO, NOTHING),
        "added": (TWO, f"2 c 3 x; {TWO}", "+A 2 c 3 x"),
        "changed": (TWO, "1 a 9 x; 1 b 2 y", "-C 1 a 1 x; +C 1 a 9 x; -C 1 b 2 x; +C 1 b 2 y"),
        "removed": (TWO, "1 a 1 x", "-R 1 b 2 x"),
        "duplicated keys": (TWO, "2 c 1 x; 2 c 2 x", COMES_AGAIN),
        "late": ("9 a 1 x", "2 a 1 x", "-C 9 a 1 x; +C 2 a 1 x"),
        "out of order": (TWO, "4 d 1 x; 1 b 2 x; 3 c 2 x; 1 a 1 x", "+A 3 c 2 x; +A 4 d 1 x"),
        "null keys": (TWO, "2 - 1 x", NO_KEY),
    },
    "snapshot of n": {
        "first": (NOTHING, "1 b 2 x; 1 a 1 x", TWO_ADDED),
        "unchanged": (TWO, "2 a 1 y; 2 b 2 -", NOTHING),
        "added": (TWO, f"2 c 3 x; {TWO}", "+A 2 c 3 x"),
        "changed": (TWO, "2 a 9 y; 2 b - x", "-C 1 a 1 x; +C 2 a 9 y; -C 1 b 2 x; +C 2 b - x"),
        "removed": (TWO, "1 a 1 y", "-R 1 b 2 x"),
        "duplicated keys": (TWO, "2 c 1 x; 2 c 1 x", COMES_AGAIN),
        "late": ("9 a 1 x", "2 a 1 x", NOTHING),
        "out of order": (TWO, "4 d 1 x; 1 b 2 x; 3 c 2 x; 1 a 1 x", "+A 3 c 2 x; +A 4 d 1 x"),
        "null keys": (TWO, "2 - 1 x", NO_KEY),
    },
    "changelog": {
        "first": (NOTHING, "+A 1 b 2 x; +A 1 a 1 x", TWO_ADDED),
        "unchanged": (TWO_ADDED, TWO_ADDED, TWO_ADDED),
        "added": (TWO_ADDED, "+A 2 c 3 x", "+A 2 c 3 x"),
        "changed": (TWO_ADDED, "+C 2 a 9 x; -C 1 a 1 x", "-C 1 a 1 x; +C 2 a 9 x"),
        "removed": (TWO_ADDED, "-R 1 b 2 x", "-R 1 b 2 x"),
        "duplicated keys": (TWO_ADDED, "+A 2 c 2 x; +A 2 c 1 x", "+A 2 c 2 x; +A 2 c 1 x"),
        "late": ("+A 9 a 1 x", "-R 2 a 1 x", "-R 2 a 1 x"),
        "out of order": (TWO_ADDED, "+A 4 d 1 x; -R 3 c 2 x; +A 2 c 3 x", "+A 2 c 3 x; -R 3 c 2 x; +A 4 d 1 x"),
        "null keys": ("+A 1 - 1 x", "+A 2 a 1 x; +A 2 - 1 x", "+A 2 - 1 x; +A 2 a 1 x"),
    },
    "upsert": {
        "first": (NOTHING, "+A 1 b 2 x; +A 1 a 1 x", TWO_ADDED),
        "unchanged": (TWO_ADDED, TWO_ADDED, NOTHING),
        "added": (TWO_ADDED, "+A 2 c 3 x", "+A 2 c 3 x"),
        "changed": (TWO_ADDED, "+A 1 a 9 x; +A - b 2 y", "-C 1 a 1 x; +C 1 a 9 x; -C 1 b 2 x; +C 2 b 2 y"),
        "removed": (TWO_ADDED, "-R 5 b 7 z; -R 5 c 7 z", "-R 1 b 2 x"),
        "duplicated keys": (TWO_ADDED, "+A 2 c 2 x; +A 2 c 1 x; +A 2 a 5 x; -R 2 a 5 x", "-R 1 a 1 x; +A 2 c 1 x"),
        "late": ("+A 9 a 1 x", "+A 2 a 1 x", "-C 9 a 1 x; +C 2 a 1 x"),
        "out of order": (TWO_ADDED, "+A 4 d 1 x; +A 3 c 2 x", "+A 3 c 2 x; +A 4 d 1 x"),
        "null keys": ("+A 1 - 1 x", "+A 2 - 5 x; +A 2 a 1 x", "-C 1 - 1 x; +C 2 - 5 x; +A 2 a 1 x"),
    },
}


NUMBERS: Final = {each.symbol: int(each) for each in OperationType}


def row(text: str) -> Row:
    """The object that the source gives for a record."""
    *operation, day, city, n, note = text.split()
    values = {"city": city, "n": n, "note": note}
    said: Row = {name: None if value == "-" else int(value) if name == "n" else value for name, value in values.items()}
    if operation:
        said["op"] = NUMBERS[operation[0]]
    return record(None if day == "-" else int(day), **said)


def rows(text: str) -> list[Row]:
    return [row(each) for each in text.split("; ") if each]


def told(found: list[tuple[Any, ...]]) -> str:
    return "; ".join(" ".join("-" if value is None else str(value) for value in values) for values in found)


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_an_input_adds(strategy: str, situation: str, tmp_path: Path) -> None:
    before, given, expected = TABLE[strategy][situation]
    columns = ("event_time TIMESTAMP", "city STRING", "n BIGINT", "note STRING")
    schema = ("op INT NOT NULL", *columns) if strategy in WITH_OPERATIONS else columns
    scenario = Scenario(tmp_path, STRATEGIES[strategy], schema)
    scenario.write(*rows(before))
    if expected.startswith("refused: "):
        with pytest.raises(MalformedSource, match=expected.removeprefix("refused: ")):
            scenario.write(*rows(given))
    else:
        assert told(scenario.write(*rows(given))) == expected


def test_the_table_has_every_situation_of_every_strategy() -> None:
    assert {(strategy, each) for strategy, cases in TABLE.items() for each in cases} == {
        *product(STRATEGIES, SITUATIONS)
    }
