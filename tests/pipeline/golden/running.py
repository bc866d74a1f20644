"""Runs a golden scenario: blocks come to two inputs, a derivative takes them in steps, and what it says is compared.

A step is compared by its records and by its logical hash, which is that of records worked out without any engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.changelog import DEFAULT_VOCABULARY
from opendatafabric.data.logical_hash import logical_hash_table
from opendatafabric.data.slice_format import system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import EngineDied, StorageError
from opendatafabric.layout import data_key
from opendatafabric.metadata.events import AddData, SetDataSchema, SetTransform
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.slices import write_slice
from pipeline.transform.run import transform
from storage.dataset import Dataset
from tests.faults.faulty_stores import Faults, FaultyRefStore, broken
from tests.pipeline.datasets import day
from tests.pipeline.golden.inputs import LABELS, ORDERS, Block, Row
from tests.pipeline.golden.kinds import Kind
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of

DERIVED, NOW = "derived", 28
RUNS: Final = ("one step", "many steps", "killed and resumed")
_SYSTEM: Final = ("offset", "op", "system_time")


@dataclass(frozen=True)
class Dialect:
    """An engine as a transform names it; ``carries`` says that records keep their operations without being asked."""

    engine: str
    version: str | None = None
    carries: bool = False

    def transform(self, kind: Kind, *, with_op: bool) -> SetTransform:
        """Of the queries of a kind; steps before the last one are called ``step_0``, ``step_1`` …"""
        texts = kind.queries(self.engine, with_op=with_op)
        steps = [SqlQueryStep(f"step_{number}", text) for number, text in enumerate(texts[:-1])]
        sql = TransformSql(self.engine, self.version, queries=(*steps, SqlQueryStep(query=texts[-1])))
        return SetTransform(tuple(TransformInput(id_of(name), name) for name in kind.inputs), sql)


@dataclass(frozen=True)
class Scenario:
    """A kind of query over a history."""

    dialect: Dialect
    kind: Kind
    history: Sequence[Block]
    with_op: bool = False

    def expected(self, blocks: Sequence[Block]) -> list[Row]:
        """What a step over these blocks gives, operations among it."""
        given: defaultdict[str, list[Row]] = defaultdict(list)
        for block in blocks:
            given[block.input] += block.rows
        if self.kind.together is not None:
            return [{**row, "op": 0} for row in self.kind.together(given)]
        return [row for name, gives in self.kind.per_row.items() for row in self._row_by_row(given[name], gives)]

    def _row_by_row(self, rows: Sequence[Row], gives: Any) -> Iterable[Row]:
        for unit in _units(rows):
            made = [[{**row, "op": given["op"]} for row in gives(given)] for given in unit]
            alone = len(unit) == 2 and [len(each) for each in made] != [1, 1]
            for row in (row for half in made for row in half):
                yield {**row, "op": self._operation(row["op"], alone=alone)}

    def _operation(self, given: int, *, alone: bool) -> int:
        if not self.dialect.carries:
            return given if self.with_op else 0
        return {2: 1, 3: 0}[given] if alone else given


def _units(rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
    """The two halves of a correction belong together."""
    left = list(rows)
    while left:
        size = 2 if left[0]["op"] == 2 else 1
        yield left[:size]
        left = left[size:]


@dataclass
class Golden:
    """A workshop in which a scenario is run; ``expected`` are the records that its steps have to give."""

    workshop: Workshop
    scenario: Scenario
    schemas: dict[str, pa.Schema] = field(default_factory=dict)
    expected: list[pa.Table] = field(default_factory=list)
    waiting: list[Block] = field(default_factory=list)
    watermarks: set[str] = field(default_factory=set)
    _faults: Any = field(default_factory=lambda: cycle(["before the job", "after the job", "before", "after"]))

    async def run(self, how: str) -> list[pa.Table]:
        """The records of the steps that gave any."""
        for name, schema in (("orders", ORDERS), ("labels", LABELS)):
            await self.add_root(name, schema)
        scenario = self.scenario
        await self.workshop.add(DERIVED, scenario.dialect.transform(scenario.kind, with_op=scenario.with_op))
        for block in scenario.history:
            await self.come(block)
            if how != "one step":
                await self._step(how)
        await self._step(how)
        return [await self.records(step.new_data) for step in await self.workshop.steps(DERIVED) if step.new_data]

    async def _step(self, how: str) -> None:
        """What it read counts as read once a block says so: with records, or with the watermark of all inputs."""
        rows = self.scenario.expected(self.waiting)
        if rows:
            self.expected.append(self._as_records(rows))
        if rows or self.watermarks.issuperset(self.scenario.kind.inputs):
            self.waiting = []
        if how == "killed and resumed":
            with suppress(EngineDied, StorageError):
                await self._killed_step(next(self._faults))
        await self.workshop.step(DERIVED, on=NOW)

    async def _killed_step(self, moment: str) -> None:
        dataset, engine = self.workshop.datasets[DERIVED], self.workshop.engine
        if moment.endswith("the job"):
            engine = Killed(engine, moment)  # type: ignore[arg-type]
        else:
            faults = Faults(1, broken, after=moment == "after", only={"compare_and_swap"})
            dataset = Dataset(dataset.objects, FaultyRefStore(dataset.refs, faults))
        await transform(dataset, self.workshop.find, engine, system_time=day(NOW))

    def _as_records(self, rows: list[Row]) -> pa.Table:
        columns = [pa.field("op", pa.int32()), *(pa.field(*each) for each in self.scenario.kind.columns)]
        start = sum(map(len, self.expected))
        table = pa.Table.from_pylist(rows, pa.schema(columns))
        times = pa.array([day(NOW).to_datetime()] * len(rows), system_fields()[2].type)
        table = table.append_column("offset", pa.array(range(start, start + len(rows)), pa.int64()))
        table = table.append_column("system_time", times)
        return table.select([*_SYSTEM, *(name for name, _ in self.scenario.kind.columns)])

    async def add_root(self, name: str, schema: pa.Schema) -> None:
        """An input without records."""
        await self.workshop.add(name)
        await self._set_schema(name, schema)

    async def _set_schema(self, name: str, schema: pa.Schema) -> None:
        fields = [*system_fields()[:3], *schema]
        self.schemas[name] = pa.schema(fields)
        event = SetDataSchema(schema=arrow_schema_to_odf(self.schemas[name]))
        await self.workshop.set(name, event, on=NOW)

    async def come(self, block: Block, names: DatasetVocabulary = DEFAULT_VOCABULARY) -> None:
        """The block on the chain of its input, whose system columns have those ``names``."""
        if block.schema is not None:
            await self._set_schema(block.input, block.schema)
        dataset, schema = self.workshop.datasets[block.input], self.schemas[block.input]
        last = (await dataset.chain_state(await dataset.head())).last_offset  # type: ignore[arg-type]
        start = 0 if last is None else last + 1
        rows = [
            {**row, names.offset_column: start + number, names.system_time_column: day(NOW).to_datetime()}
            for number, row in enumerate(block.rows)
        ]
        data = await self._stored(dataset, pa.Table.from_pylist(rows, schema), names) if rows else None
        self.waiting += [block] if block.input in self.scenario.kind.inputs else []
        self.watermarks |= set() if block.watermark is None else {block.input}
        watermark = None if block.watermark is None else day(block.watermark)
        state = await dataset.chain_state(await dataset.head())  # type: ignore[arg-type]
        await self.workshop.set(
            block.input, AddData(prev_offset=last, new_data=data, new_watermark=watermark or state.watermark), on=NOW
        )

    async def _stored(self, dataset: Dataset, records: pa.Table, names: DatasetVocabulary) -> DataSlice:
        path = self.workshop.folder / "slice"
        written = write_slice(records, records.schema, path, names).data_slice()
        assert written is not None
        await dataset.writable_objects().put(data_key(written.physical_hash), path.read_bytes())
        path.unlink()
        return written

    async def records(self, data: DataSlice) -> pa.Table:
        """Of the derivative."""
        raw = await self.workshop.datasets[DERIVED].objects.read(data_key(data.physical_hash), size_max=2**20)
        records = pq.read_table(pa.BufferReader(raw))
        assert logical_hash_table(records) == data.logical_hash
        return records


class Killed(LocalEngine):
    """Ends before the job, or when it has done it and nobody heard of it yet."""

    def __init__(self, engine: LocalEngine, moment: str) -> None:
        self._of, self._moment = engine, moment

    def folders(self) -> Any:
        return self._of.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._moment == "after the job":
            await self._of.run(job, arguments)
        raise EngineDied("killed")


def told(records: Iterable[pa.Table]) -> list[Row]:
    """All rows."""
    return [row for table in records for row in table.to_pylist()]


async def check(workshop: Workshop, scenario: Scenario, how: str) -> list[Row]:
    """That every step gives what was worked out, hash included; the rows of all."""
    golden = Golden(workshop, scenario)
    found = await golden.run(how)
    assert [table.to_pylist() for table in found] == [table.to_pylist() for table in golden.expected]
    assert [logical_hash_table(table) for table in found] == [logical_hash_table(table) for table in golden.expected]
    return told(found)


def workshop_with(engine: LocalEngine, folder: Path) -> Workshop:
    """Empty."""
    folder.mkdir(parents=True)
    return Workshop(engine, folder)
