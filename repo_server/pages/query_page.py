"""The page to ask datasets in SQL: a form, what came of it with its proof, and which tables and columns there are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from yarl import URL

from catalog.facts_of_blocks import ColumnFacts
from opendatafabric.errors import OdfError
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render
from repo_server.query.question import LIMIT, NamedDataset

PATH: Final = "/query"
EXAMPLE: Final = "account/dataset"
_CELL_CHARS: Final = 300
_LINE_CHARS: Final = 200
_ADDRESS_CHARS_MAX: Final = 7_000
"""Longer proofs do not fit into an address, which the server would refuse."""

_FILES: Final = {"csv": "CSV", "json": "JSON", "ndjson": "NDJSON", "arrow": "Arrow", "parquet": "Parquet"}
_PLACE: Final = re.compile(r"line (\d+), column (\d+)")
_NUMBER: Final = re.compile(r"U?Int\d+|Float\d+|\{'Decimal")
"""Types of numbers as they stand in the schema of an answer."""


@dataclass(frozen=True, slots=True)
class AskedOnPage:
    """What is in the form; times are as they were typed, empty for now."""

    query: str = f'SELECT * FROM "{EXAMPLE}" LIMIT 10'
    limit: int = LIMIT
    state: bool = False
    as_at: str = ""
    as_of: str = ""

    def address(self, **more: str) -> str:
        """Where the same is asked by a link, with ``more`` parameters or other ones."""
        given = {
            "query": self.query,
            "limit": str(self.limit),
            "state": "true" if self.state else "",
            "asAt": self.as_at,
            "asOf": self.as_of,
            **more,
        }
        return str(URL(PATH).with_query({name: text for name, text in given.items() if text}))


@dataclass(frozen=True, slots=True)
class TableOnPage:
    """A dataset that may be asked, under the name that a query calls it by."""

    name: str
    columns: Sequence[ColumnFacts]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class ResultOnPage:
    """Cells as text, ``None`` for null; where they come from, and the proof of it where answers are signed."""

    columns: Sequence[str]
    numbers: frozenset[int]
    """The columns that hold numbers."""
    rows: Sequence[Sequence[str | None]]
    datasets: Sequence[NamedDataset]
    took_s: float
    proof: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedOnPage:
    """A proof that was checked; ``fault`` says why it does not hold."""

    proof: str
    fault: str | None


@dataclass(frozen=True, slots=True)
class PlaceInQuery:
    """A line of the query with a mark below the character that is meant."""

    line: int
    column: int
    text: str

    @property
    def mark(self) -> str:
        """To stand below the line."""
        return " " * (self.column - 1) + "^"


@dataclass(frozen=True, slots=True)
class SeenQuery:
    """Everything that the page shows."""

    asked: AskedOnPage
    tables: Sequence[TableOnPage] = ()
    result: ResultOnPage | None = None
    checked: CheckedOnPage | None = None
    fault: OdfError | None = None


def query_page(seen: SeenQuery, frame: Frame, *, rows_max: int, file_rows_max: int) -> str:
    """The page; ``rows_max`` are shown on it, ``file_rows_max`` are in files."""
    asked, result = seen.asked, seen.result
    return render(
        "query.html",
        frame=frame,
        asked=asked,
        tables=seen.tables,
        result=result,
        checked=seen.checked,
        fault=seen.fault,
        place=None if seen.fault is None else place_of(asked.query, seen.fault.message),
        files=[(name, asked.address(**{"limit": str(file_rows_max), "as": word})) for word, name in _FILES.items()],
        proof_fits=result is not None and result.proof is not None and _fits(result.proof),
        rows_max=rows_max,
        file_rows_max=file_rows_max,
        example=seen.tables[0].name if seen.tables else EXAMPLE,
    )


def result_of(
    told: dict[str, Any], datasets: Sequence[NamedDataset], *, took_s: float, proof: str | None
) -> ResultOnPage:
    """From the output of an answer: lists in a list, with the schema in Arrow's JSON."""
    fields = told["schema"]["fields"]
    numbers = frozenset(at for at, field in enumerate(fields) if _NUMBER.match(str(field["data_type"])))
    rows = [[cell_text(value) for value in row] for row in told["data"]]
    return ResultOnPage([field["name"] for field in fields], numbers, rows, datasets, took_s, proof)


def cell_text(value: Any) -> str | None:
    """A value as it is shown: ``None`` for null, long ones cut."""
    if value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…"


def place_of(query: str, message: str) -> PlaceInQuery | None:
    """The place that a message names, if it is in the query."""
    found = _PLACE.search(message)
    lines = query.splitlines()
    if found is None:
        return None
    line, column = (int(number) for number in found.groups())
    if not (1 <= line <= len(lines) and 1 <= column <= min(len(lines[line - 1]) + 1, _LINE_CHARS)):
        return None
    return PlaceInQuery(line, column, lines[line - 1][:_LINE_CHARS])


def _fits(proof: str) -> bool:
    return len(str(URL(PATH).with_query(check=proof))) <= _ADDRESS_CHARS_MAX
