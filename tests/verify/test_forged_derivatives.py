"""Derivatives of several blocks in which one thing is false, every hash above it made anew: only replay can tell.

Each falsehood is found in chains of each engine, and the report names the block, the offset and the column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.metadata.events import ExecuteTransform, SetTransform
from opendatafabric.metadata.transform import SqlQueryStep
from storage.memory import MemoryObjectStore
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop
from tests.verify.forge import Forge, reordered, stored_checkpoint, with_value, without_row
from tests.verify.replaying import three_steps, verified, workshop_in
from verify.integrity import verify_integrity
from verify.replayed import StepVerdict
from verify.report import Report, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Falsehood:
    """What is false in which step (counted from 0), and the places that a report names."""

    forge: Forge
    step: int
    places: tuple[tuple[int, str | None], ...] = ()
    told: str = ""


def at_input(number: int, **changes: Any) -> Callable[[ExecuteTransform], ExecuteTransform]:
    """The step with another thing said of one of its inputs."""

    def change(event: ExecuteTransform) -> ExecuteTransform:
        inputs = list(event.query_inputs)
        inputs[number] = replace(inputs[number], **changes)
        return replace(event, query_inputs=tuple(inputs))

    return change


def other_query(old: str, new: str) -> Callable[[SetTransform], SetTransform]:
    """The transform with a part of its query replaced."""

    def change(event: SetTransform) -> SetTransform:
        (step,) = event.transform.queries or ()
        query = SqlQueryStep(query=step.query.replace(old, new))
        return replace(event, transform=replace(event.transform, queries=(query,)))

    return change


FALSEHOODS = {
    "one altered value of the first step": Falsehood(Forge({0: with_value("more", 1, 22)}), 0, ((1, "more"),)),
    "one altered value in the middle": Falsehood(Forge({1: with_value("city", 1, "rivne")}), 1, ((5, "city"),)),
    "one altered value of the last step": Falsehood(Forge({2: with_value("more", 0, None)}), 2, ((7, "more"),)),
    "another event time": Falsehood(
        Forge({1: with_value("event_time", 0, day(9).to_datetime())}), 1, ((4, "event_time"),)
    ),
    "another operation": Falsehood(Forge({1: with_value("op", 2, 1)}), 1, ((6, "op"),)),
    "a dropped row, those behind it moved up": Falsehood(
        Forge({1: without_row(2)}), 1, ((6, None),), told="2 recorded, 3 given"
    ),
    "a reordered pair": Falsehood(
        Forge({1: reordered}), 1, ((4, "city"), (4, "more"), (5, "city"), (5, "more"))
    ),
    "a wrong watermark": Falsehood(
        Forge(steps={1: lambda event: replace(event, new_watermark=day(2))}), 1, told="the watermark is not that"
    ),
    "fewer offsets of an input than its blocks have": Falsehood(
        Forge(steps={1: at_input(0, new_offset=3), 2: at_input(0, prev_offset=3)}), 1, told="other records of an input"
    ),
}  # fmt: skip


class ForgedSuite:
    """What is false in a chain of three blocks over two inputs is found, whatever engine made it."""

    engine: ClassVar[str]

    @pytest.fixture
    async def workshop(self, empty: Workshop) -> Workshop:
        """Large cities and all towns, in three steps."""
        return await three_steps(empty, self.engine)

    async def report_on(self, workshop: Workshop, forge: Forge) -> Report:
        """What is found out about a forged chain, which nothing but replay finds fault with."""
        workshop.datasets["derived"] = await forge.forged(workshop.datasets["derived"])
        integrity = await verify_integrity(workshop.datasets["derived"])
        assert (integrity.verdict, integrity.findings) == (Verdict.VALID, [])
        return await verified(workshop, "derived")

    async def test_what_was_not_forged_is_valid(self, workshop: Workshop) -> None:
        report = await self.report_on(workshop, Forge())
        assert report.verdict is Verdict.VALID
        assert {step.verdict for step in report.steps or ()} == {StepVerdict.VALID}

    @pytest.mark.parametrize("name", FALSEHOODS)
    async def test_what_is_false_is_named_by_block_offset_and_column(self, workshop: Workshop, name: str) -> None:
        false = FALSEHOODS[name]
        report = await self.report_on(workshop, false.forge)
        steps = report.steps or []
        assert report.verdict is Verdict.INVALID
        assert steps[false.step].verdict is StepVerdict.MISMATCH
        assert {step.verdict for step in steps[: false.step]} <= {StepVerdict.VALID}
        assert tuple((row.offset, row.column) for row in steps[false.step].rows) == false.places
        assert {finding.sequence_number for finding in report.findings} == {steps[false.step].sequence_number}
        assert false.told in " ".join(finding.message for finding in report.findings)

    async def test_blocks_behind_a_false_one_follow_from_their_inputs(self, workshop: Workshop) -> None:
        report = await self.report_on(workshop, Forge({0: without_row(0)}))
        mismatch, valid = StepVerdict.MISMATCH, StepVerdict.VALID
        assert [step.verdict for step in report.steps or ()] == [mismatch, valid, valid]

    async def test_an_input_block_that_is_not_the_one_that_was_read_is_found(self, workshop: Workshop) -> None:
        cities = await blocks_of(workshop.datasets["cities"])
        steps = await workshop.steps("derived")
        earlier = next(
            number for number, block in enumerate(cities) if block.hash == steps[1].query_inputs[0].new_block_hash
        )
        head = cities[earlier + 1].hash
        behind = at_input(0, prev_block_hash=head, new_block_hash=None, new_offset=None)
        report = await self.report_on(workshop, Forge(steps={1: at_input(0, new_block_hash=head), 2: behind}))
        assert report.verdict is Verdict.INVALID
        (_, second, _) = report.steps or ()
        assert second.verdict is StepVerdict.MISMATCH
        assert str(head) in (report.findings[0].expected or "")

    @pytest.mark.parametrize(
        ("old", "new", "places"),
        [
            ("> 10", "> 25", {(1, "city"), (1, "event_time")}),
            ("population + 1", "population + 2", {(0, "more"), (1, "more")}),
        ],
    )
    async def test_a_query_that_is_not_the_one_that_was_run_is_found(
        self, workshop: Workshop, old: str, new: str, places: set[tuple[int, str]]
    ) -> None:
        report = await self.report_on(workshop, Forge(events={SetTransform: other_query(old, new)}))
        first = (report.steps or [])[0]
        assert first.verdict is StepVerdict.MISMATCH
        assert {(row.offset, row.column) for row in first.rows} & places


class TestDatafusion(ForgedSuite):
    engine = "datafusion"

    @pytest.fixture
    def empty(self, tmp_path: Path) -> Workshop:
        return workshop_in(tmp_path)

    async def test_a_checkpoint_of_an_engine_that_is_not_known_says_nothing(self, workshop: Workshop) -> None:
        assert (await self.report_on(workshop, leaving(workshop, b"anything"))).verdict is Verdict.VALID


class TestSpark(ForgedSuite):
    engine = "spark"

    @pytest.fixture
    def empty(self, tmp_path: Path, spark: SparkSession) -> Workshop:
        (tmp_path / "files").mkdir()
        return Workshop(LocalEngine(tmp_path / "engine", lambda: spark), tmp_path / "files")


def leaving(workshop: Workshop, raw: bytes) -> Forge:
    """The last step leaves a checkpoint."""
    objects = workshop.datasets["derived"].objects
    assert isinstance(objects, MemoryObjectStore)
    checkpoint = stored_checkpoint(objects, raw)
    return Forge(steps={-1: lambda event: replace(event, new_checkpoint=checkpoint)})


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "op": st.integers(0, 3),
    "event_time": st.integers(1, 28).map(lambda number: day(number).to_datetime()),
    "city": st.none() | st.text("ab", max_size=2),
    "more": st.none() | st.integers(-5, 60),
}


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(step=st.integers(0, 2), data=st.data())
async def test_any_value_that_is_not_the_one_that_was_given_is_named(
    tmp_path: Path, step: int, data: st.DataObject
) -> None:
    with TemporaryDirectory(dir=tmp_path) as folder:
        workshop = await three_steps(workshop_in(Path(folder)), "datafusion")
        event = (await workshop.steps("derived"))[step]
        assert event.new_data is not None
        offset = data.draw(st.integers(event.new_data.offset_interval.start, event.new_data.offset_interval.end))
        column = data.draw(st.sampled_from(sorted(VALUES)))
        value = data.draw(VALUES[column])
        (was,) = [row[column] for row in await workshop.rows("derived", "offset", column) if row["offset"] == offset]
        forge = Forge({step: with_value(column, offset - event.new_data.offset_interval.start, value)})
        workshop.datasets["derived"] = await forge.forged(workshop.datasets["derived"])
        report = await verified(workshop, "derived")
    named = [(row.offset, row.column) for each in report.steps or () for row in each.rows]
    assert named == ([] if value == was else [(offset, column)])
    assert (report.verdict is Verdict.VALID) == (value == was)
