"""What holds of every dialect: each step gives what was worked out, and how steps were cut shows where it may."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import SetDataSchema, SetTransform, SetVocab
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from tests.pipeline.datasets import day
from tests.pipeline.golden.inputs import LABELS, ORDERS, PATTERNS, WIDER, Block, Row, order, orders
from tests.pipeline.golden.kinds import KINDS
from tests.pipeline.golden.running import DERIVED, NOW, RUNS, Dialect, Golden, Scenario, check, told, workshop_with
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import id_of


async def check_runs(scenario: Scenario, engine: LocalEngine, folder: Path, runs: Sequence[str] = RUNS) -> None:
    """However steps are cut, each gives what was worked out; what sees one record at a time gives the same in all."""
    found = [
        await check(workshop_with(engine, folder / f"run-{number}"), scenario, how) for number, how in enumerate(runs)
    ]
    if scenario.kind.is_stateless:
        assert len({repr(in_order(scenario, rows)) for rows in found}) == 1


def in_order(scenario: Scenario, rows: Sequence[Row]) -> Sequence[Any]:
    """Rows of two inputs come in the order in which steps took them: there they count in any order."""
    if len(scenario.kind.inputs) == 1:
        return rows
    return sorted([repr({**row, "offset": None}) for row in rows])


async def check_steps_see_themselves_alone(dialect: Dialect, engine: LocalEngine, kind: str, folder: Path) -> None:
    """What looks at many records gives other rows if steps are cut in another way."""
    scenario = Scenario(dialect, KINDS[kind], PATTERNS["corrections"])
    one, many = [await check(workshop_with(engine, folder / how), scenario, how) for how in ("one step", "many steps")]
    assert one != many


def noted(dialect: Dialect, note: str) -> SetTransform:
    """A transform that gives a note with each order."""
    query = SqlQueryStep(query=f"select event_time, id, {note} as note from orders")
    inputs = (TransformInput(id_of("orders"), "orders"),)
    return SetTransform(inputs, TransformSql(dialect.engine, dialect.version, queries=(query,)))


async def check_query_that_follows_its_input(dialect: Dialect, engine: LocalEngine, folder: Path) -> None:
    """An input gets a column, and the query is changed to use it."""
    workshop = workshop_with(engine, folder / "files")
    golden = Golden(workshop, Scenario(dialect, KINDS["map"], ()))
    for name, schema in (("orders", ORDERS), ("labels", LABELS)):
        await golden.add_root(name, schema)
    await workshop.add(DERIVED, noted(dialect, "'none'"))
    await golden.come(orders(1))
    await workshop.step(DERIVED, on=NOW)
    await golden.come(orders(2))
    await golden.come(Block("orders", [order(3, note="new"), order(4)], schema=WIDER))
    await workshop.set(DERIVED, noted(dialect, "coalesce(note, 'null')"), on=NOW)
    await workshop.step(DERIVED, on=NOW)
    rows = told([await golden.records(step.new_data) for step in await workshop.steps(DERIVED) if step.new_data])
    found = [(row["offset"], row["id"], row["note"]) for row in rows]
    assert found == [(0, 1, "none"), (1, 2, "null"), (2, 3, "new"), (3, 4, "null")]


INPUT_NAMES = DatasetVocabulary("row", "change", "stored", "happened")
OWN_NAMES = DatasetVocabulary("place", "kind", "made", "at")


def set_vocab(names: DatasetVocabulary) -> SetVocab:
    """The event that gives them."""
    return SetVocab(*names.system_columns)


async def check_names_of_their_own(dialect: Dialect, engine: LocalEngine, folder: Path) -> None:
    """Input and derivative each call the system columns by names of their own, and the query has both."""
    workshop = workshop_with(engine, folder / "files")
    fields = [*system_fields(INPUT_NAMES), pa.field("id", pa.int64())]
    golden = Golden(workshop, Scenario(dialect, KINDS["map"], ()), schemas={"orders": pa.schema(fields)})
    schema = SetDataSchema(schema=arrow_schema_to_odf(golden.schemas["orders"]))
    await workshop.add("orders", set_vocab(INPUT_NAMES), schema)
    selected = "change as kind, " if not dialect.carries else ""
    query = SqlQueryStep(query=f"select {selected}happened as at, id, row from orders where id > 1")
    inputs = (TransformInput(id_of("orders"), "orders"),)
    sql = TransformSql(dialect.engine, dialect.version, queries=(query,))
    await workshop.add(DERIVED, set_vocab(OWN_NAMES), SetTransform(inputs, sql))
    for changes in ([(0, 1), (0, 2)], [(2, 2), (3, 3)], [(1, 3)]):
        rows = [{"change": op, "happened": day(2).to_datetime(), "id": number} for op, number in changes]
        await golden.come(Block("orders", rows), INPUT_NAMES)
        await workshop.step(DERIVED, on=NOW)
    steps = [await golden.records(step.new_data) for step in await workshop.steps(DERIVED) if step.new_data]
    assert steps[0].column_names == ["place", "kind", "made", "at", "id", "row"]
    found = [(row["place"], row["kind"], row["id"], row["row"]) for row in told(steps)]
    assert found == [(0, 0, 2, 1), (1, 2, 2, 2), (2, 3, 3, 3), (3, 1, 3, 4)]
    assert {row["at"] for row in told(steps)} == {day(2).to_datetime()}
    assert {row["made"] for row in told(steps)} == {day(NOW).to_datetime()}
