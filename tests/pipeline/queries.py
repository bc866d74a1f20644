"""The golden queries in ``tests/vectors/queries``, and the two relations that they read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.source_tree import ROOT

FOLDER = ROOT / "tests" / "vectors" / "queries"
RELATIONS = {
    "input": "select * from values"
    " (0L, 0, timestamp'2020-01-01 00:00:00', timestamp'2020-01-01 00:00:00', 1, 2.5D, '1')"
    " as t(offset, op, system_time, event_time, a, b, s)",
    "other": "select * from values (1, 10) as t(a, x)",
}


@dataclass(frozen=True)
class HostileQuery:
    """A query that must not pass, and what it tries."""

    attempt: str
    sql: str


def honest_queries() -> list[str]:
    """Queries that people write; each must pass and hold."""
    return [query.strip() for query in re.split(r";\n", (FOLDER / "honest.sql").read_text())]


def hostile_queries() -> list[HostileQuery]:
    """Each attempt is headed by a comment that says what it is."""
    text = (FOLDER / "hostile.sql").read_text()
    return [
        HostileQuery(attempt, sql.strip().removesuffix(";"))
        for attempt, sql in re.findall(r"^-- ([^\n]+)\n(.*?)(?=^-- |\Z)", text, re.MULTILINE | re.DOTALL)
    ]
