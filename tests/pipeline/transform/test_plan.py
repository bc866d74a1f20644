"""What a step reads, and what its block says, follows from where the derivative and its inputs stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.chain.state import ChainState
from opendatafabric.errors import UnsupportedOperation, UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import (
    AddData,
    DatasetKind,
    ExecuteTransform,
    ExecuteTransformInput,
    Seed,
    SetDataSchema,
    UnknownEvent,
)
from opendatafabric.metadata.slices import Checkpoint, DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash, physical_hash
from pipeline.commit import Position
from pipeline.transform.plan import InputNews, TransformPlan, inputs_before, plan_transform, transform_of
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import id_of, query_over

SCHEMA = SetDataSchema(raw_arrow_schema=b"any")


def block(name: str) -> Multihash:
    """The hash of some block."""
    return physical_hash(name.encode())


def slice_of(start: int, end: int) -> DataSlice:
    """Some records."""
    return DataSlice(block("logical"), block(f"{start}"), OffsetInterval(start, end), 1)


def added(start: int, end: int, watermark: Instant | None = None) -> AddData:
    """A block with those records."""
    return AddData(prev_offset=start - 1 if start else None, new_data=slice_of(start, end), new_watermark=watermark)


def root(name: str, head: str, *events: AddData, has_schema: bool = True) -> Position:
    """An input that stands at ``head``, where those blocks of data have led."""
    last = events[-1] if events else None
    seed, schema = Seed(id_of(name), DatasetKind.ROOT), SCHEMA if has_schema else None
    state = ChainState(head=block(head), sequence_number=9, seed=seed, data=last, add_data=last, data_schema=schema)
    return Position(block(head), state)


def derivative(*inputs: str, last: ExecuteTransform | None = None, has_schema: bool = True) -> Position:
    """A derivative of those inputs that made the step ``last``."""
    seed = Seed(id_of("derived"), DatasetKind.DERIVATIVE)
    state = ChainState(head=block("derived"), sequence_number=5, seed=seed, transform=query_over("select 1", *inputs))
    schema = SCHEMA if has_schema else None
    return Position(block("derived"), replace(state, data=last, execute_transform=last, data_schema=schema))


def seen(name: str, block_name: str | None, offset: int | None) -> ExecuteTransformInput:
    """Where the last step left an input."""
    head = None if block_name is None else block(block_name)
    return ExecuteTransformInput(id_of(name), new_block_hash=head, new_offset=offset)


@dataclass(frozen=True)
class Case:
    """An input and where the last step left it; what the next one says of it."""

    name: str
    before: ExecuteTransformInput | None
    news: InputNews
    expected: tuple[str | None, int | None, int | None]
    interval: OffsetInterval | None
    is_due: bool


FIRST, SECOND = added(0, 4, day(1)), added(5, 6, day(2))
CASES = [
    Case("first", None, InputNews(root("a", "h1", FIRST), (FIRST,)), ("h1", None, 4), OffsetInterval(0, 4), True),
    Case("later", seen("a", "h1", 4), InputNews(root("a", "h2", FIRST, SECOND), (SECOND,)), ("h2", 4, 6),
         OffsetInterval(5, 6), True),
    Case("nothing", seen("a", "h1", 4), InputNews(root("a", "h1", FIRST)), (None, 4, None), None, False),
    Case("only a description", seen("a", "h1", 4), InputNews(root("a", "h3", FIRST)), ("h3", 4, None), None, False),
    Case("only a watermark", seen("a", "h1", 4),
         InputNews(root("a", "h4", AddData(prev_offset=4, new_watermark=day(9))), (AddData(new_watermark=day(9)),)),
         ("h4", 4, None), None, True),
    Case("no schema", None, InputNews(root("a", "h0", has_schema=False)), ("h0", None, None), None, False),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_new_in_an_input(case: Case) -> None:
    last = None if case.before is None else ExecuteTransform((case.before,), new_watermark=day(1))
    plan = plan_transform(derivative("a", last=last), [case.news])
    (planned,) = plan.inputs
    head, prev_offset, new_offset = case.expected
    assert planned.event == ExecuteTransformInput(
        id_of("a"),
        None if case.before is None else case.before.new_block_hash,
        None if head is None else block(head),
        prev_offset,
        new_offset,
    )
    assert (planned.interval, plan.is_due) == (case.interval, case.is_due)


def test_slices_and_watermarks_are_in_the_order_of_the_chain() -> None:
    plan = plan_transform(derivative("a"), [InputNews(root("a", "h2", FIRST, SECOND), (FIRST, SECOND))])
    assert [each.offset_interval.start for each in plan.inputs[0].slices] == [0, 5]
    assert plan.inputs[0].watermarks == (day(1), day(2))


def test_a_derivative_without_a_schema_is_due_though_its_input_has_no_records() -> None:
    news = [InputNews(root("a", "h0"))]
    assert plan_transform(derivative("a", has_schema=False), news).is_due
    assert not plan_transform(derivative("a"), news).is_due


def test_an_input_without_a_schema_is_waited_for_by_name() -> None:
    news = [InputNews(root("a", "h1", FIRST), (FIRST,)), InputNews(root("b", "h0", has_schema=False))]
    plan = plan_transform(derivative("a", "b"), news)
    assert (plan.waits_for, plan.is_due) == (("b",), False)


def planned_watermark(before: int | None, *reached: int | None) -> TransformPlan:
    """A step of a derivative with a watermark over inputs with theirs."""
    names = [f"i{number}" for number in range(len(reached))]
    times = [None if each is None else day(each) for each in reached]
    roots = [root(name, "h1", added(0, 1, time)) for name, time in zip(names, times, strict=True)]
    inputs = tuple(seen(name, "h0", None) for name in names)
    last = ExecuteTransform(inputs, new_watermark=None if before is None else day(before))
    return plan_transform(derivative(*names, last=last), [InputNews(each) for each in roots])


WATERMARKS = [
    (None, (None,), None),
    (None, (3,), 3),
    (None, (3, 2), 2),
    (None, (3, None), None),
    (2, (3, None), 2),
    (2, (3, 1), 2),
    (2, (3, 4), 3),
]


@pytest.mark.parametrize(("before", "reached", "expected"), WATERMARKS)
def test_the_watermark_is_that_of_the_slowest_input_and_does_not_go_back(
    before: int | None, reached: tuple[int | None, ...], expected: int | None
) -> None:
    assert planned_watermark(before, *reached).watermark == (None if expected is None else day(expected))


@given(st.none() | st.integers(1, 28), st.lists(st.none() | st.integers(1, 28), min_size=1, max_size=4))
def test_no_watermark_is_before_the_last_one(before: int | None, reached: list[int | None]) -> None:
    watermark = planned_watermark(before, *reached).watermark
    assert before is None or (watermark is not None and watermark >= day(before))


def test_a_step_continues_offsets_and_checkpoint_of_the_last_one() -> None:
    checkpoint = Checkpoint(block("checkpoint"), 3)
    last = ExecuteTransform((seen("a", "h1", 4),), new_data=slice_of(0, 7), new_checkpoint=checkpoint)
    plan = plan_transform(derivative("a", last=last), [InputNews(root("a", "h2", SECOND), (SECOND,))])
    event = plan.event(slice_of(8, 9))
    assert event is not None
    assert (event.prev_offset, event.prev_checkpoint, event.new_checkpoint) == (7, block("checkpoint"), None)
    assert (event.new_data, event.new_watermark) == (slice_of(8, 9), day(2))


def test_a_step_without_rows_is_a_block_if_it_can_say_a_watermark() -> None:
    with_watermark = plan_transform(derivative("a"), [InputNews(root("a", "h1", FIRST), (FIRST,))])
    assert with_watermark.event(None) is not None
    plain = added(0, 4)
    without = plan_transform(derivative("a"), [InputNews(root("a", "h1", plain), (plain,))])
    assert without.event(None) is None
    assert without.event(slice_of(0, 1)) is not None


INPUT_CHANGES: list[tuple[tuple[str, ...], tuple[str, ...], bool]] = [
    (("a",), ("a", "b"), True),
    (("a", "b"), ("a",), True),
    (("a", "b"), ("b", "a"), False),
    (("a",), ("b",), False),
    (("a", "b"), ("b",), False),
]


@pytest.mark.parametrize(("before", "now", "is_allowed"), INPUT_CHANGES)
def test_inputs_come_and_go_at_the_end_alone(before: tuple[str, ...], now: tuple[str, ...], is_allowed: bool) -> None:
    last = ExecuteTransform(tuple(seen(name, f"h{name}", 1) for name in before))
    if is_allowed:
        paired = inputs_before(derivative(*now, last=last))
        left = [None if each is None else each.dataset_id for _, each in paired]
        assert left == [id_of(name) if name in before else None for name in now]
    else:
        with pytest.raises(UnsupportedOperation, match="was another dataset in the step before"):
            inputs_before(derivative(*now, last=last))


@pytest.mark.parametrize(
    ("transform", "error"), [(None, UnsupportedOperation), (UnknownEvent(6, "newer"), UnsupportedVersion)]
)
def test_a_derivative_needs_a_transform_that_is_understood(transform: Any, error: type[Exception]) -> None:
    position = derivative("a")
    with pytest.raises(error):
        transform_of(Position(position.head, replace(position.state, transform=transform)))
