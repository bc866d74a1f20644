"""Every step of a derivative is made again: what follows is valid, what does not is named by block, row and column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from opendatafabric.errors import DatasetNotFound
from opendatafabric.layout import data_key
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.multihash import physical_hash
from pipeline.engine_contract.elsewhere import EngineAddress, EnginesElsewhere
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import serving
from storage.memory import MemoryObjectStore
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of, query_over
from tests.verify.forge import RecordsChange, reordered, with_value
from tests.verify.replaying import (
    LARGE,
    Dying,
    NeverEnding,
    falsify,
    large_cities,
    rewrite,
    verified,
    workshop_in,
)
from verify.replayed import StepVerdict
from verify.report import Report, Severity, Verdict

VALID, MISMATCH = StepVerdict.VALID, StepVerdict.MISMATCH


@pytest.fixture
async def large(tmp_path: Path) -> Workshop:
    """Large cities in two steps."""
    return await large_cities(workshop_in(tmp_path))


def verdicts(report: Report) -> list[StepVerdict]:
    """Of the steps."""
    assert report.steps is not None
    return [step.verdict for step in report.steps]


async def test_steps_that_follow_are_valid(large: Workshop) -> None:
    report = await verified(large)
    assert (report.verdict, report.findings) == (Verdict.VALID, [])
    assert verdicts(report) == [VALID, VALID]
    assert [(step.records_expected, step.records_found) for step in report.steps or ()] == [(2, 2), (2, 2)]


async def test_nothing_is_written_by_it(large: Workshop) -> None:
    dataset = large.datasets["large"]
    assert isinstance(dataset.objects, MemoryObjectStore)
    before = dict(dataset.objects.objects), await dataset.head()
    await verified(large)
    assert (dict(dataset.objects.objects), await dataset.head()) == before


async def test_a_root_has_no_steps(large: Workshop) -> None:
    assert (await verified(large, "cities")).steps is None


async def test_one_altered_value_is_named_by_block_offset_and_column(large: Workshop) -> None:
    await falsify(large, with_value("population", 1, 21), step=0)
    report = await verified(large)
    assert report.verdict is Verdict.INVALID
    assert verdicts(report) == [MISMATCH, VALID]
    (step, _) = report.steps or ()
    assert [row.as_dict() for row in step.rows] == [
        {"offset": 1, "column": "population", "expected": "21", "found": "20"}
    ]
    last = report.findings[-1]
    assert (last.code, last.sequence_number) == ("replay-mismatch", step.sequence_number)
    assert last.message == "records differ at offset 1 in column 'population'"
    assert (last.offset, last.column, last.expected, last.found) == (1, "population", "21", "20")


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        (reordered, {"city", "population"}),
        (with_value("city", 0, None), {"city"}),
    ],
    ids=["a reordered pair", "a lost value"],
)
async def test_other_rows_are_named_by_their_columns(large: Workshop, change: RecordsChange, columns: set[str]) -> None:
    await falsify(large, change, step=-1)
    report = await verified(large)
    assert verdicts(report) == [VALID, MISMATCH]
    assert {row.column for row in (report.steps or ())[1].rows} == columns


async def test_a_dropped_row_is_told_and_counted(large: Workshop) -> None:
    await falsify(large, lambda records: records.slice(0, 1), step=-1)
    (_, step) = (await verified(large)).steps or ()
    assert (step.records_expected, step.records_found) == (1, 2)
    assert [(row.offset, row.column, row.expected) for row in step.rows] == [(3, None, None)]


async def test_records_where_the_block_has_none_are_a_mismatch(large: Workshop) -> None:
    dataset = large.datasets["large"]
    large.datasets["large"] = await rewrite(dataset, -1, lambda event: replace(event, new_data=None))
    report = await verified(large)
    assert verdicts(report) == [VALID, MISMATCH]
    assert report.findings[0].message == "the transform gives records, and the block has none"


def at(number: int) -> RecordsChange:
    """All records came on that day."""

    def change(records: pa.Table) -> pa.Table:
        index = records.column_names.index("system_time")
        times = [day(number).to_datetime()] * records.num_rows
        return records.set_column(index, records.schema.field(index), pa.array(times, records.column(index).type))

    return change


async def test_no_records_where_the_block_has_some_are_a_mismatch(large: Workshop) -> None:
    await large.push("cities", on=6, bucha=1)
    await large.step("large", on=7)
    dataset = large.datasets["large"]
    (first, *_) = await large.steps("large")

    def with_old_records(event: ExecuteTransform) -> ExecuteTransform:
        return replace(event, new_data=first.new_data)

    dataset = await rewrite(dataset, -1, with_old_records)
    large.datasets["large"] = dataset
    await falsify(large, at(7), step=-1)
    report = await verified(large)
    assert verdicts(report) == [VALID, VALID, MISMATCH]
    assert report.findings[0].message == "the transform gives no records, and the block has some"


async def test_another_watermark_is_a_mismatch(large: Workshop) -> None:
    dataset = large.datasets["large"]
    large.datasets["large"] = await rewrite(dataset, -1, lambda event: replace(event, new_watermark=day(3)))
    report = await verified(large)
    assert verdicts(report) == [VALID, MISMATCH]
    (finding,) = report.findings
    assert (finding.expected, finding.found) == (str(day(3)), str(day(4)))


async def test_a_query_that_is_not_the_one_that_was_run_is_a_mismatch(large: Workshop) -> None:
    await large.add("false", query_over(LARGE.replace("> 10", "> 25"), "cities"))
    steps = await large.steps("large")
    schema = [block.event for block in await blocks_of(large.datasets["large"])][2]
    large.datasets["false"].objects.objects |= large.datasets["large"].objects.objects  # type: ignore[attr-defined]
    for number, event in enumerate([schema, *steps]):
        await large.set("false", event, on=3 + number)
    report = await verified(large, "false")
    assert set(verdicts(report)) == {MISMATCH}


async def test_offsets_that_the_blocks_of_an_input_do_not_have_are_a_mismatch(large: Workshop) -> None:
    def read_less(event: ExecuteTransform) -> ExecuteTransform:
        (given,) = event.query_inputs
        return replace(event, query_inputs=(replace(given, new_offset=4),))

    large.datasets["large"] = await rewrite(large.datasets["large"], -1, read_less)
    report = await verified(large)
    assert verdicts(report) == [VALID, MISMATCH]
    assert "offsets 2 to 4" in (report.findings[0].expected or "")
    assert "offsets 2 to 5" in (report.findings[0].found or "")


async def test_a_step_that_read_an_input_before_it_had_records_is_a_mismatch(large: Workshop) -> None:
    await large.add("once", query_over(LARGE, "cities"))
    await large.step("once", on=6)
    source = (await blocks_of(large.datasets["cities"]))[1].hash

    def too_early(event: ExecuteTransform) -> ExecuteTransform:
        (given,) = event.query_inputs
        return replace(event, query_inputs=(replace(given, new_block_hash=source),))

    large.datasets["once"] = await rewrite(large.datasets["once"], 0, too_early)
    report = await verified(large, "once")
    assert verdicts(report) == [MISMATCH]
    assert report.findings[0].message == "the step read cities before there were any records in it"


async def test_a_block_that_is_not_on_the_chain_of_the_input_is_missing(large: Workshop) -> None:
    def elsewhere(event: ExecuteTransform) -> ExecuteTransform:
        (given,) = event.query_inputs
        return replace(event, query_inputs=(replace(given, new_block_hash=physical_hash(b"another")),))

    large.datasets["large"] = await rewrite(large.datasets["large"], -1, elsewhere)
    report = await verified(large)
    assert verdicts(report) == [VALID, StepVerdict.INPUT_MISSING]
    assert str(physical_hash(b"another")) in report.findings[0].message
    assert report.verdict is Verdict.ERROR


async def test_an_input_that_is_nowhere_is_missing(large: Workshop) -> None:
    del large.datasets["cities"]
    report = await verified(large)
    assert set(verdicts(report)) == {StepVerdict.INPUT_MISSING}
    with pytest.raises(DatasetNotFound):
        await large.find(id_of("cities"))


async def test_a_damaged_slice_of_an_input_makes_invalid_what_was_read_from_it(large: Workshop) -> None:
    cities = large.datasets["cities"].objects
    assert isinstance(cities, MemoryObjectStore)
    first = [block.event for block in await blocks_of(large.datasets["cities"])][-2]
    cities.objects[data_key(first.new_data.physical_hash)] += b"x"  # type: ignore[union-attr]
    report = await verified(large)
    assert verdicts(report) == [StepVerdict.INPUT_INVALID, VALID]
    assert report.verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("of_input", "of_steps", "whole"),
    [
        (Verdict.INVALID, StepVerdict.INPUT_INVALID, Verdict.INVALID),
        (Verdict.ERROR, StepVerdict.INPUT_MISSING, Verdict.ERROR),
        (Verdict.VALID, VALID, Verdict.VALID),
    ],
)
async def test_a_derivative_is_as_valid_as_its_inputs(
    large: Workshop, of_input: Verdict, of_steps: StepVerdict, whole: Verdict
) -> None:
    report = await verified(large, verdicts={id_of("cities"): of_input})
    assert (set(verdicts(report)), report.verdict) == ({of_steps}, whole)


async def test_an_engine_that_is_not_here_is_unsupported_and_never_valid(large: Workshop) -> None:
    await large.set("large", query_over(LARGE, "cities", engine="flink"), on=6)
    await large.push("cities", on=7, bucha=1)
    (_, second) = await large.steps("large")
    (given,) = second.query_inputs
    head = await large.datasets["cities"].head()
    later = replace(given, prev_block_hash=given.new_block_hash, new_block_hash=head, prev_offset=5, new_offset=6)
    await large.set("large", replace(second, query_inputs=(later,), prev_offset=3, new_data=None), on=8)
    report = await verified(large)
    assert verdicts(report) == [VALID, VALID, StepVerdict.UNSUPPORTED_ENGINE]
    assert report.verdict is Verdict.ERROR
    assert "flink" in report.findings[0].message
    assert "ODF_ENGINES" in (report.findings[0].hint or "")


async def test_an_engine_that_dies_leaves_it_open(large: Workshop, tmp_path: Path) -> None:
    report = await verified(large, engine=Dying(tmp_path / "dying"))
    assert set(verdicts(report)) == {StepVerdict.ENGINE_ERROR}
    assert {finding.severity for finding in report.findings} == {Severity.UNCHECKED}


async def test_a_step_that_takes_too_long_leaves_it_open(large: Workshop, tmp_path: Path) -> None:
    report = await verified(large, engine=NeverEnding(tmp_path / "never"), timeout_s=0.01)
    assert set(verdicts(report)) == {StepVerdict.TIMED_OUT}
    assert report.verdict is Verdict.ERROR


async def test_a_damaged_derivative_is_not_repeated(large: Workshop) -> None:
    objects = large.datasets["large"].objects
    assert isinstance(objects, MemoryObjectStore)
    (first, _) = await large.steps("large")
    assert first.new_data is not None
    objects.objects[data_key(first.new_data.physical_hash)] += b"x"
    report = await verified(large)
    assert (report.verdict, report.steps) == (Verdict.INVALID, None)


async def test_a_changed_query_counts_from_its_block_on(large: Workshop) -> None:
    await large.set("large", query_over(LARGE.replace("> 10", "< 10"), "cities"), on=6)
    await large.push("cities", on=7, bucha=1, rivne=50)
    await large.step("large", on=8)
    assert verdicts(await verified(large)) == [VALID, VALID, VALID]


async def test_an_engine_elsewhere_is_asked_by_the_contract(large: Workshop, tmp_path: Path) -> None:
    engine = ServedEngine(LocalEngine(tmp_path / "engine"), tmp_path)
    dying = Dying(tmp_path / "dying")
    async with serving(engine, host="127.0.0.1", port=0) as port:
        elsewhere = EnginesElsewhere({"datafusion": EngineAddress(f"127.0.0.1:{port}")})
        assert verdicts(await verified(large, engine=dying, elsewhere=elsewhere)) == [VALID, VALID]
        await falsify(large, with_value("population", 1, 21), step=0)
        report = await verified(large, engine=dying, elsewhere=elsewhere)
    assert verdicts(report) == [MISMATCH, VALID]
    assert report.findings[-1].message == "records differ at offset 1 in column 'population'"


async def test_where_no_engine_answers_it_is_unsupported(large: Workshop) -> None:
    report = await verified(large, elsewhere=EnginesElsewhere({"datafusion": EngineAddress("127.0.0.1:1")}))
    assert set(verdicts(report)) == {StepVerdict.UNSUPPORTED_ENGINE}
    assert "127.0.0.1:1" in report.findings[0].message
