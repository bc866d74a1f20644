"""What holds of every dialect: each step gives what was worked out, and how steps were cut shows where it may."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
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
