"""The page to ask datasets in SQL: a form, what came of it, and which columns there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from opendatafabric.errors import OdfError
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render
from repo_server.query.question import LIMIT, NamedDataset

_CELL_CHARS: Final = 300
EXAMPLE: Final = "account/dataset"


@dataclass(frozen=True, slots=True)
class AskedOnPage:
    """What is in the form."""

    query: str = f'SELECT * FROM "{EXAMPLE}" LIMIT 10'
    limit: int = LIMIT
    state: bool = False


@dataclass(frozen=True, slots=True)
class TableOnPage:
    """Columns of a dataset, with the words for their types."""

    name: str
    columns: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ResultOnPage:
    """Cells as text, and where they come from."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    datasets: Sequence[NamedDataset]


def query_page(
    asked: AskedOnPage,
    *,
    rows_max: int,
    result: ResultOnPage | None = None,
    tables: Sequence[TableOnPage] = (),
    fault: OdfError | None = None,
    frame: Frame,
) -> str:
    """The page."""
    example = tables[0].name if tables else EXAMPLE
    shown = {"asked": asked, "rows_max": rows_max, "result": result, "tables": tables, "fault": fault}
    return render("query.html", frame=frame, example=example, **shown)


def cell_text(value: Any) -> str:
    """A value as it is shown: nothing for null, long ones cut."""
    text = "" if value is None else value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…"
