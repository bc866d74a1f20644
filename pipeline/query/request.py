"""What the process of a query is told: the SQL, the tables as folders of proved slices, and how much it may take."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opendatafabric.instant import Instant
from opendatafabric.limits import QUERY_MEMORY_BYTES_MAX

if TYPE_CHECKING:
    from pipeline.reading.moment import KnownRecords


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """``rows`` cuts the result short; the others end the query. ``foreign``: not without a sandbox."""

    memory_bytes: int = QUERY_MEMORY_BYTES_MAX
    time_s: float = 600
    rows: int | None = None
    foreign: bool = False


USUAL_LIMITS: Final = QueryLimits()


@dataclass(frozen=True, slots=True)
class QueryTable:
    """A table by the name that the query has for it; ``folder`` holds the slices, named so that they sort.

    ``function`` makes it what ``to_table`` gives. Otherwise it is the changelog, unless ``state``.
    """

    name: str
    folder: Path
    known: KnownRecords
    state: bool = False
    as_of: Instant | None = None
    function: bool = False

    def files(self) -> Sequence[Path]:
        """The slices in order."""
        return sorted(self.folder.iterdir())


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """One query."""

    sql: str
    tables: tuple[QueryTable, ...]
    limits: QueryLimits = USUAL_LIMITS

    def to_json(self) -> str:
        """As one line."""
        tables = [_table_to_message(table) for table in self.tables]
        return json.dumps({"sql": self.sql, "tables": tables, "limits": asdict(self.limits)})


def request_from_json(text: str | bytes) -> QueryRequest:
    """What ``to_json`` gave. Loads Arrow."""
    message = json.loads(text)
    tables = tuple(map(_table_from_message, message["tables"]))
    return QueryRequest(message["sql"], tables, QueryLimits(**message["limits"]))


def _table_to_message(table: QueryTable) -> dict[str, Any]:
    known = table.known
    return {
        "name": table.name,
        "folder": str(table.folder),
        "schema": base64.b64encode(known.schema.serialize().to_pybytes()).decode(),
        "vocabulary": asdict(known.vocabulary),
        "primary_key": known.primary_key,
        "state": table.state,
        "as_of": None if table.as_of is None else str(table.as_of),
        "function": table.function,
    }


def _table_from_message(message: dict[str, Any]) -> QueryTable:
    import pyarrow as pa  # noqa: PLC0415 - the child must be walled in before

    from opendatafabric.data.vocabulary import DatasetVocabulary  # noqa: PLC0415
    from pipeline.reading.moment import KnownRecords  # noqa: PLC0415

    key, as_of = message["primary_key"], message["as_of"]
    known = KnownRecords(
        head=None,
        slices=(),
        vocabulary=DatasetVocabulary(**message["vocabulary"]),
        schema=pa.ipc.read_schema(pa.py_buffer(base64.b64decode(message["schema"]))),
        primary_key=None if key is None else tuple(key),
    )
    return QueryTable(
        message["name"],
        Path(message["folder"]),
        known,
        state=message["state"],
        as_of=None if as_of is None else Instant.from_rfc3339(as_of),
        function=message["function"],
    )
