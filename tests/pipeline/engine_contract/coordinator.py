"""What a coordinator brings: files of cities in a folder that it shares with the engine, and requests about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.engine_messages import (
    DatasetVocabulary,
    RawQueryRequest,
    TransformRequest,
    TransformRequestInput,
    Watermark,
)
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from tests.pipeline.datasets import day

VOCABULARY = DatasetVocabulary("offset", "op", "system_time", "event_time")
SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("op", pa.int32(), nullable=False),
        pa.field("system_time", TIMESTAMP, nullable=False),
        pa.field("event_time", TIMESTAMP, nullable=False),
        ("city", pa.string()),
        ("population", pa.int64()),
    ]
)


def query(*steps: str, engine: str = "datafusion") -> TransformSql:
    """Steps one after another; all but the last are called ``step0`` and so on."""
    named = [SqlQueryStep(query=text, alias=f"step{index}") for index, text in enumerate(steps[:-1])]
    return TransformSql(engine, queries=(*named, SqlQueryStep(query=steps[-1])))


def id_of(name: str) -> DatasetId:
    """The id of the dataset of that name."""
    return new_dataset_id(name.encode().ljust(32, b"."))


@dataclass
class Coordinator:
    """Files in ``folder``; the results are asked for there too."""

    folder: Path

    def cities(self, first_offset: int = 0, **populations: int) -> str:
        """A slice."""
        rows = [
            {"offset": first_offset + index, "op": 0, "city": city, "population": number}
            for index, (city, number) in enumerate(populations.items())
        ]
        times = {"system_time": day(2).to_datetime(), "event_time": day(1).to_datetime()}
        path = self.folder / f"slice-{first_offset}-{len(rows)}"
        pq.write_table(pa.Table.from_pylist([{**row, **times} for row in rows], schema=SCHEMA), path)
        return str(path)

    def input(
        self, *files: str, name: str = "cities", offsets: tuple[int, int] | None = None, marks: tuple[Instant, ...] = ()
    ) -> TransformRequestInput:
        """New records of an input, none without ``offsets``."""
        return TransformRequestInput(
            id_of(name),
            DatasetAlias.from_text(name),
            name,
            VOCABULARY,
            None if offsets is None else OffsetInterval(*offsets),
            files,
            self.cities() if not files else files[0],
            tuple(Watermark(day(2), mark) for mark in marks),
        )

    def step(
        self,
        transform: TransformSql,
        *inputs: TransformRequestInput,
        next_offset: int = 0,
        before: str | None = None,
        name: str = "new",
    ) -> TransformRequest:
        """One step of a derivative."""
        data, checkpoint = (str(self.folder / f"{name}-{kind}") for kind in ("data", "checkpoint"))
        alias = DatasetAlias.from_text("derived")
        return TransformRequest(
            id_of("derived"), alias, day(3), VOCABULARY, transform, inputs, next_offset, before, checkpoint, data
        )

    def raw(self, transform: TransformSql, *files: str) -> RawQueryRequest:
        """A query over files."""
        return RawQueryRequest(files, transform, str(self.folder / "new-data"))

    def rows(self, *columns: str) -> list[dict[str, Any]]:
        """Those columns of the result."""
        found: list[dict[str, Any]] = pq.read_table(self.folder / "new-data").select(list(columns)).to_pylist()
        return found

    @property
    def made(self) -> set[str]:
        """What there is of the results."""
        return {path.name for path in self.folder.iterdir() if path.name.startswith("new-")}
