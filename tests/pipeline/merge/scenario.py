"""A dataset in the making: rows go in as objects, what is added comes out as tuples that can be read at a glance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from opendatafabric.data.changelog import OperationType
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddPushSource, SetDataSchema
from opendatafabric.metadata.sources import MergeStrategy, ReadStepNdJson
from pipeline.ingest_job import make_slice
from pipeline.ingest_request import HistoryFiles, IngestAnswer, IngestRequest
from tests.pipeline.local_engine import no_spark

Row = dict[str, Any]


class Scenario:
    """One dataset with one NdJson source; every ``write`` is a day later than the one before, from 2024-01-01 on."""

    def __init__(self, folder: Path, merge: MergeStrategy, schema: Sequence[str]) -> None:
        self._folder = folder
        self._source = AddPushSource("default", ReadStepNdJson(schema=tuple(schema)), None, merge)
        self._schema: SetDataSchema | None = None
        self._runs: tuple[Path, ...] = ()
        self._next_offset = 0
        self._day = 0
        self.answer: IngestAnswer | None = None

    def write(self, *rows: Row) -> list[tuple[Any, ...]]:
        """The records that ``rows`` add: symbol of the operation, day of the event, values."""
        self._day += 1
        now = Instant.from_rfc3339(f"2024-01-{self._day:02}T00:00:00Z")
        file, made = self._folder / f"input-{self._day}", self._folder / f"slice-{self._day}"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        vocabulary = DatasetVocabulary()
        history = HistoryFiles(self._folder / f"runs-{self._day}", self._runs)
        history.made.mkdir()
        self.answer = make_slice(
            no_spark,
            IngestRequest(self._source, file, made, now, now, vocabulary, self._schema, self._next_offset, history),
        )
        self._schema = self._schema or self.answer.schema
        self._runs = files_of(self.answer, history)
        if self.answer.data is None:
            return []
        assert self.answer.data.offset_interval.start == self._next_offset
        self._next_offset = self.answer.data.offset_interval.end + 1
        return [_told(row) for row in pq.read_table(made).to_pylist()]


def files_of(answer: IngestAnswer, history: HistoryFiles) -> tuple[Path, ...]:
    """The runs of an answer, which were given or made."""
    given = {path.name: path for path in history.runs}
    return tuple(given.get(name, history.made / name) for name in answer.runs or ())


def _told(row: Row) -> tuple[Any, ...]:
    values = [value for name, value in row.items() if name not in DatasetVocabulary().system_columns]
    return OperationType(row["op"]).symbol, row["event_time"].day, *values


def record(day: int | None = None, **values: Any) -> Row:
    """An object of the source with an event time on that day of January 2024, or without one."""
    return values if day is None else {"event_time": f"2024-01-{day:02}T00:00:00Z", **values}
