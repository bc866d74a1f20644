"""Histories of inputs on disk, and queries over them in one step or in several, each from the checkpoint before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import TIMESTAMP, system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetDataSchema, SetTransform
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.metadata.transform import SqlQueryStep, TemporalTable, TransformInput, TransformSql
from pipeline.slices import write_slice
from pipeline.transform.input_block import InputBlock
from pipeline.transform.job import compute
from pipeline.transform.request import GivenInput, Memory, TransformRequest
from tests.pipeline.datasets import day
from tests.pipeline.epochs.oracle import Block, History, Record
from tests.pipeline.transform.derived import id_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE: Final = 60_000
SCHEMA: Final = pa.schema([*system_fields(), ("key", pa.string()), ("value", pa.int64())])
DECLARED: Final = SetDataSchema(schema=arrow_schema_to_odf(SCHEMA))
VOCABULARY: Final = DatasetVocabulary()


def at_minute(minute: int | None) -> Instant | None:
    """That many minutes after the first of January."""
    if minute is None:
        return None
    days, rest = divmod(minute, 24 * 60)
    return Instant(2024, 1 + days, rest * 60) if days >= 0 else Instant(2023, 366 + days, rest * 60)


_ZERO: Final = 1_704_067_200_000


def table_of(records: Sequence[Record], first_offset: int) -> pa.Table:
    """As the slice of a block."""
    times = pa.array([_ZERO + each.time * MINUTE for each in records], pa.int64()).cast(TIMESTAMP)
    return pa.table(
        [
            pa.array(range(first_offset, first_offset + len(records)), pa.int64()),
            pa.array([each.op for each in records], pa.int32()),
            times,
            times,
            pa.array([each.key for each in records], pa.string()),
            pa.array([each.value for each in records], pa.int64()),
        ],
        schema=SCHEMA,
    )


@dataclass
class _Reached:
    """How far an input was read."""

    offset: int = 0
    watermark: int | None = None


@dataclass
class Stepping:
    """``inputs`` of a history; ``queries`` are the steps of the transform, its tables are named as the inputs.

    Those of ``versions`` are temporal tables by their key.
    """

    folder: Path
    history: History
    inputs: tuple[str, ...]
    queries: tuple[str, ...]
    reached: dict[str, _Reached] = field(default_factory=dict)
    watermark: int | None = None
    checkpoint: Path | None = None
    knows_blocks: bool = True
    versions: tuple[str, ...] = ()

    def resumed(self) -> Stepping:
        """From the same place, by somebody else."""
        folder = self.folder / "resumed"
        folder.mkdir()
        reached = {name: replace(each) for name, each in self.reached.items()}
        return replace(self, folder=folder, reached=reached)

    def run(self, spark: SparkSession, cuts: Sequence[int] = ()) -> list[pa.Table]:
        """What each step gives; steps end before the blocks at ``cuts``, and there is one for the rest."""
        ends = [0, *(cut for cut in cuts if cut < len(self.history)), len(self.history)]
        return [self.step(spark, start, end) for start, end in pairwise(ends)]

    def step(self, spark: SparkSession, start: int, end: int) -> pa.Table:
        """What one step over those blocks gives."""
        request = self.request(start, end)
        return pa.concat_tables(compute(lambda: spark, request))

    def request(self, start: int, end: int) -> TransformRequest:
        """For a step over those blocks."""
        before, left = self.watermark, self.checkpoint
        given = tuple(self._given(name, start, end) for name in self.inputs)
        self._advance()
        self.checkpoint = self.folder / f"checkpoint-{start}-{end}"
        self.checkpoint.unlink(missing_ok=True)
        memory = Memory(self.checkpoint, left, at_minute(before), at_minute(self.watermark))
        given_memory = memory if self.knows_blocks else None
        return TransformRequest(
            self._transform(), given, self.folder / "made", day(9), VOCABULARY, None, 0, given_memory
        )

    def _given(self, name: str, start: int, end: int) -> GivenInput:
        reached = self.reached.setdefault(name, _Reached())
        first = reached.offset
        blocks: list[InputBlock] = []
        slices: list[Path] = []
        for place in range(start, end):
            if self.history[place].input == name:
                slices += self._written(self.history[place], place, reached.offset)
                blocks.append(self._block(self.history[place], reached))
        interval = OffsetInterval(first, reached.offset - 1) if reached.offset > first else None
        return GivenInput(name, DECLARED, VOCABULARY, tuple(slices), interval, tuple(blocks))

    def _written(self, block: Block, place: int, offset: int) -> Iterator[Path]:
        if block.records:
            path = self.folder / f"slice-{place}"
            path.unlink(missing_ok=True)
            write_slice(table_of(block.records, offset), SCHEMA, path)
            yield path

    def _block(self, block: Block, reached: _Reached) -> InputBlock:
        before = reached.watermark
        known = [each for each in (before, block.watermark) if each is not None]
        reached.offset, reached.watermark = reached.offset + len(block.records), max(known, default=None)
        last = reached.offset - 1 if reached.offset else None
        return InputBlock(last, at_minute(before), at_minute(reached.watermark))

    def _advance(self) -> None:
        known = [self.reached[name].watermark for name in self.inputs]
        there = [each for each in known if each is not None]
        if len(there) == len(known):
            self.watermark = min(there) if self.watermark is None else max(min(there), self.watermark)

    def _transform(self) -> SetTransform:
        steps = tuple(SqlQueryStep(f"step_{place}", query) for place, query in enumerate(self.queries[:-1]))
        steps = (*steps, SqlQueryStep(query=self.queries[-1]))
        tables = tuple(TemporalTable(name, ("key",)) for name in self.versions)
        sql = TransformSql("spark", "odf-epoch/1", queries=steps, temporal_tables=tables)
        return SetTransform(tuple(TransformInput(id_of(name), name) for name in self.inputs), sql)


def minutes(table: pa.Table, *names: str) -> list[tuple[object, ...]]:
    """Those columns of the rows; times in minutes."""
    columns = []
    for name in names:
        values = table.column(name).to_pylist()
        is_time = pa.types.is_timestamp(table.schema.field(name).type)
        columns.append([_minute(each) for each in values] if is_time else values)
    return [*zip(*columns, strict=True)]


def _minute(moment: object) -> int | None:
    return None if moment is None else int((moment.timestamp() * 1000 - _ZERO) // MINUTE)  # type: ignore[attr-defined]
