"""What the process of a query is told: the SQL or the records wanted, the tables as folders of proved slices, and how
much it may take.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opendatafabric.codec.plain import to_plain
from opendatafabric.instant import Instant
from opendatafabric.limits import QUERY_MEMORY_BYTES_MAX
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash
from pipeline.query.answer_form import ARROW_STREAM, AnswerForm, FileKind, JsonShape, SchemaFormat

if TYPE_CHECKING:
    from storage.records.moment import KnownRecords


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """``rows`` cuts the result short; the others end the query. ``foreign``: not without a sandbox."""

    memory_bytes: int = QUERY_MEMORY_BYTES_MAX
    time_s: float = 600
    rows: int | None = None
    foreign: bool = False
    result_bytes: int | None = None


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
class RecordsWanted:
    """Not a query but the records of the one table whose offsets lie between ``first`` and ``last``, in their order."""

    first: int
    last: int
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """One query, or with ``wanted`` the records of its only table; the first ``skip`` rows are left out."""

    sql: str
    tables: tuple[QueryTable, ...]
    limits: QueryLimits = USUAL_LIMITS
    form: AnswerForm = ARROW_STREAM
    skip: int = 0
    wanted: RecordsWanted | None = None

    def to_json(self) -> str:
        """As one line."""
        return json.dumps(
            {
                "sql": self.sql,
                "tables": [_table_to_message(table, with_slices=self.wanted is not None) for table in self.tables],
                "limits": asdict(self.limits),
                "form": [self.form.shape.value, self.form.schema_format, self.form.canonical],
                "skip": self.skip,
                "wanted": None if self.wanted is None else asdict(self.wanted),
            }
        )


def request_from_json(text: str | bytes) -> QueryRequest:
    """What ``to_json`` gave. Loads Arrow."""
    message = json.loads(text)
    return QueryRequest(
        message["sql"],
        tuple(map(_table_from_message, message["tables"])),
        QueryLimits(**message["limits"]),
        _form(*message["form"]),
        message["skip"],
        _wanted(message["wanted"]),
    )


def _form(shape: str, schema_format: str | None, canonical: bool) -> AnswerForm:
    kind = FileKind(shape) if shape in {each.value for each in FileKind} else JsonShape(shape)
    return AnswerForm(kind, None if schema_format is None else SchemaFormat(schema_format), canonical)


def _wanted(message: dict[str, Any] | None) -> RecordsWanted | None:
    if message is None:
        return None
    columns = message["columns"]
    return RecordsWanted(message["first"], message["last"], None if columns is None else tuple(columns))


def _table_to_message(table: QueryTable, *, with_slices: bool) -> dict[str, Any]:
    known = table.known
    return {
        "name": table.name,
        "folder": str(table.folder),
        "schema": base64.b64encode(known.schema.serialize().to_pybytes()).decode(),
        "vocabulary": asdict(known.vocabulary),
        "primary_key": known.primary_key,
        "slices": [to_plain(each) for each in known.slices] if with_slices else [],
        "state": table.state,
        "as_of": None if table.as_of is None else str(table.as_of),
        "function": table.function,
    }


def _table_from_message(message: dict[str, Any]) -> QueryTable:
    import pyarrow as pa  # noqa: PLC0415 - the child must be walled in before

    from opendatafabric.data.vocabulary import DatasetVocabulary  # noqa: PLC0415
    from storage.records.moment import KnownRecords  # noqa: PLC0415

    key, as_of = message["primary_key"], message["as_of"]
    known = KnownRecords(
        head=None,
        slices=tuple(map(_slice, message["slices"])),
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


def _slice(message: dict[str, Any]) -> DataSlice:
    interval = message["offsetInterval"]
    return DataSlice(
        Multihash.from_text(message["logicalHash"]),
        Multihash.from_text(message["physicalHash"]),
        OffsetInterval(interval["start"], interval["end"]),
        message["size"],
    )
