"""Each rule of the chain: a minimal chain that breaks this rule and no other, and one beside it that does not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from opendatafabric.chain.rules import RULES, Effect, check_block
from opendatafabric.chain.rules.rule import Broken, Candidate
from opendatafabric.chain.state import ChainState
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import ChainError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    DisablePollingSource,
    DisablePushSource,
    SetInfo,
    SetTransform,
    SetVocab,
    UnknownEvent,
)
from opendatafabric.metadata.slices import ExtraAttributes, OffsetInterval, SourceState
from opendatafabric.metadata.sources import FetchStepEthereumLogs
from opendatafabric.metadata.transform import TransformInput, TransformSql
from tests.opendatafabric.chain.chain_samples import (
    DERIVATIVE,
    ROOT,
    SCHEMA,
    SELECT,
    Event,
    added,
    checkpoint,
    data_slice,
    dataset_id,
    executed,
    instant,
    next_block,
    object_hash,
    polling_source,
    push_source,
    query,
    schema,
    source_input,
    state_after,
    transform,
)

NEWER = UnknownEvent(type_id=99, reason="a newer kind of event")


@dataclass(frozen=True)
class Case:
    """Behind ``chain``, ``bad`` breaks ``rule`` and no other; ``good`` passes. ``bad_block`` changes parts of it."""

    rule: str
    chain: tuple[Event, ...]
    bad: Event
    good: Event
    good_chain: tuple[Event, ...] | None = None
    bad_block: dict[str, Any] = field(default_factory=dict)
    also: frozenset[str] = frozenset()
    """Later rules that ``bad`` cannot help breaking too."""
    name: str = ""


def slice_of(start: int, end: int) -> Any:
    return replace(data_slice(0, 0), offset_interval=OffsetInterval(start, end))


def ethereum(**names: Any) -> Any:
    return replace(polling_source(), fetch=FetchStepEthereumLogs(**names))


def inputs(*given: TransformInput) -> SetTransform:
    return SetTransform(given, SELECT)


STATE = SourceState("default", "odf/etag", "1")
GOOD_INPUT = TransformInput(dataset_id(2), "a")
ADVANCED = executed(source_input(2, None, 1, None, 5))
TWO_STEPS = (DERIVATIVE, transform(2), ADVANCED)

CASES = [
    Case("B1", (ROOT, push_source("a")), DisablePushSource("a"), SetInfo()),
    Case("B1", (ROOT, polling_source()), DisablePollingSource(), SetInfo(), name="polling"),
    Case("B2", (ROOT,), ROOT, ROOT, good_chain=()),
    Case("B3", (), SetInfo(), ROOT),
    Case("B3", (), NEWER, ROOT, name="newer event"),
    Case("B4", (), ROOT, ROOT, bad_block={"sequence_number": 1}, also=frozenset({"P1"})),
    Case(
        "B5",
        (ROOT, AddData(new_source_state=STATE)),
        AddData(extra=ExtraAttributes("{}")),
        AddData(new_watermark=instant(1)),
    ),
    Case(
        "B6",
        (DERIVATIVE, transform(2)),
        executed(source_input(2, None, 1), new_watermark=None),
        executed(source_input(2, None, 1), new_checkpoint=checkpoint(1)),
    ),
    Case("B7", (ROOT, SCHEMA), AddData(new_data=slice_of(1, 5)), AddData(new_data=slice_of(0, 5))),
    Case("B7", (ROOT, SCHEMA, added(0, 9)), added(10, 12, new_data=slice_of(11, 12)), added(10, 12), name="later"),
    Case("B8", (ROOT, SCHEMA, added(0, 9)), added(10, 9), added(10, 10)),
    Case("B9", (ROOT,), push_source("a", TransformSql("spark", query="q")), push_source("a", SELECT), name="query"),
    Case("B9", (ROOT,), push_source("a", TransformSql("spark", queries=())), push_source("a", SELECT), name="empty"),
    Case("B9", (ROOT,), push_source("a", query(("x", "q"))), push_source("a", SELECT), name="alias on the last step"),
    Case(
        "B9",
        (ROOT,),
        replace(polling_source(), preprocess=query((None, "p"), (None, "q"))),
        replace(polling_source(), preprocess=query(("x", "p"), (None, "q"))),
        name="no alias on another step",
    ),
    Case("B10", (ROOT,), ethereum(signature="x"), ethereum(chain_id=1)),
    Case("B10", (ROOT,), ethereum(), ethereum(node_url="wss://example.com"), name="node url"),
    Case("B11", (DERIVATIVE,), transform(), transform(2), name="no inputs"),
    Case("B11", (DERIVATIVE,), transform(2, 2), transform(2, 3), name="twice"),
    Case(
        "B11",
        (DERIVATIVE,),
        inputs(TransformInput(DatasetAlias.from_text("a/b"), "a")),
        inputs(GOOD_INPUT),
        name="by alias",
    ),
    Case("B11", (DERIVATIVE,), inputs(replace(GOOD_INPUT, alias=None)), inputs(GOOD_INPUT), name="without alias"),
    Case(
        "B11",
        (DERIVATIVE,),
        replace(transform(2), transform=TransformSql("spark", query="q")),
        transform(2),
        name="not in normal form",
    ),
    Case("P0", (ROOT,), SetInfo(), SetInfo(), bad_block={"prev_block_hash": object_hash(77)}),
    Case("P0", (ROOT,), NEWER, NEWER, bad_block={"prev_block_hash": object_hash(77)}, name="newer event"),
    Case(
        "P0",
        (ROOT,),
        ROOT,
        SetInfo(),
        bad_block={"prev_block_hash": None, "sequence_number": 0},
        also=frozenset({"P1"}),
        name="second seed",
    ),
    Case("P1", (ROOT,), SetInfo(), SetInfo(), bad_block={"sequence_number": 2}, name="gap"),
    Case("P1", (ROOT, SetInfo()), SetInfo(), SetInfo(), bad_block={"sequence_number": 1}, name="repeated"),
    Case("P2", (ROOT,), SetInfo(), SetInfo(), bad_block={"system_time": instant(9)}),
    Case(
        "P3",
        (ROOT, AddData(new_watermark=instant(5))),
        AddData(new_watermark=instant(4)),
        AddData(new_watermark=instant(6)),
        name="shrinks",
    ),
    Case(
        "P3",
        (ROOT, AddData(new_watermark=instant(5))),
        AddData(new_source_state=STATE),
        AddData(new_source_state=STATE, new_watermark=instant(5)),
        name="vanishes",
    ),
    Case("P4", (ROOT, SCHEMA, added(0, 9)), added(5, 12), added(10, 12)),
    Case(
        "P4",
        (ROOT, SCHEMA, added(0, 9), SetInfo(), AddData(prev_offset=9, new_source_state=STATE)),
        added(8, 12),
        added(10, 12),
        name="over a block without data",
    ),
    Case("P5", (ROOT, polling_source()), push_source("a"), SetInfo(), name="beside a polling source"),
    Case("P5", (ROOT, push_source("a"), push_source("b")), push_source("a"), push_source("c"), name="identical"),
    Case("P5", (ROOT, push_source("a")), push_source("a"), push_source("a", SELECT), name="replaced"),
    Case("P6", (ROOT, push_source("a")), polling_source(), polling_source(), good_chain=(ROOT, polling_source())),
    Case("A1", (ROOT,), added(0, 9), added(0, 9), good_chain=(ROOT, SCHEMA)),
    Case("A1", (ROOT,), added(0, 9), AddData(new_watermark=instant(1)), name="without data"),
    Case(
        "A2",
        (ROOT, AddData(new_checkpoint=checkpoint(1))),
        AddData(new_checkpoint=checkpoint(2)),
        AddData(prev_checkpoint=object_hash(1), new_checkpoint=checkpoint(2)),
        name="forgotten",
    ),
    Case(
        "A2",
        (ROOT, AddData(new_checkpoint=checkpoint(1)), AddData(prev_checkpoint=object_hash(1), new_source_state=STATE)),
        AddData(prev_checkpoint=object_hash(1), new_watermark=instant(1)),
        AddData(new_watermark=instant(1)),
        name="inherited over a gap",
    ),
    Case(
        "A3",
        (ROOT, AddData(new_watermark=instant(5))),
        AddData(new_watermark=instant(5)),
        AddData(new_watermark=instant(5), new_source_state=STATE),
    ),
    Case(
        "A3",
        (ROOT, AddData(new_watermark=instant(5), new_source_state=STATE)),
        AddData(new_watermark=instant(5), new_source_state=STATE),
        AddData(new_watermark=instant(5)),
        name="dropping the source state counts",
    ),
    Case(
        "E1",
        (DERIVATIVE, transform(2)),
        executed(source_input(2, None, 1, None, 5), new_data=data_slice(0, 9)),
        executed(source_input(2, None, 1, None, 5), new_data=data_slice(0, 9)),
        good_chain=(DERIVATIVE, transform(2), SCHEMA),
    ),
    Case("E2", (DERIVATIVE,), ADVANCED, ADVANCED, good_chain=(DERIVATIVE, transform(2)), name="no transform"),
    Case("E2", (DERIVATIVE, transform(3)), ADVANCED, executed(source_input(3, None, 1)), name="another input"),
    Case(
        "E2",
        (DERIVATIVE, transform(2, 3)),
        executed(source_input(3, None, 1), source_input(2, None, 1)),
        executed(source_input(2, None, 1), source_input(3, None, 1)),
        name="another order",
    ),
    Case("E2", TWO_STEPS, executed(new_watermark=instant(2)), executed(source_input(2, 1, 2, 5, 6)), name="fewer"),
    Case("E3", TWO_STEPS, executed(source_input(2, 1, 1, 5)), executed(source_input(2, 1, 2, 5))),
    Case("E4", TWO_STEPS, executed(source_input(2, 1, 2, 5, 5)), executed(source_input(2, 1, 2, 5, 6))),
    Case("E5", TWO_STEPS, executed(source_input(2, 7, 2, 5)), executed(source_input(2, 1, 2, 5))),
    Case("E5", TWO_STEPS, executed(source_input(2, None, 2, 5)), executed(source_input(2, 1, 2, 5)), name="forgotten"),
    Case("E6", TWO_STEPS, executed(source_input(2, 1, 2, 4)), executed(source_input(2, 1, 2, 5))),
    Case(
        "E6",
        (*TWO_STEPS, executed(source_input(2, 1, 2, 5))),
        executed(source_input(2, 2, 3, None, 9)),
        executed(source_input(2, 2, 3, 5, 9)),
        name="over a step without records",
    ),
    Case(
        "E7",
        TWO_STEPS,
        executed(source_input(2, 1, None, 5, 6), new_watermark=instant(2)),
        executed(source_input(2, 1, 2, 5, 6), new_watermark=instant(2)),
    ),
    Case(
        "E8",
        (DERIVATIVE, transform(2), replace(ADVANCED, new_checkpoint=checkpoint(1))),
        executed(source_input(2, 1, 2, 5)),
        executed(source_input(2, 1, 2, 5), prev_checkpoint=object_hash(1)),
    ),
    Case("E9", TWO_STEPS, executed(source_input(2, 1, None, 5)), executed(source_input(2, 1, 2, 5))),
    Case(
        "E9",
        TWO_STEPS,
        executed(source_input(2, 1, None, 5)),
        executed(source_input(2, 1, None, 5), new_watermark=instant(2)),
        name="watermark alone is progress",
    ),
    Case("X1", (DERIVATIVE,), AddData(new_watermark=instant(1)), SetInfo(), name="AddData"),
    Case("X1", (DERIVATIVE,), push_source("a"), transform(2), name="push source"),
    Case("X1", (ROOT,), transform(2), polling_source(), name="transform"),
    Case("X2", (ROOT, SCHEMA), added(5, 9), added(0, 9)),
]


def broken_rules(state: ChainState, block: HashedBlock) -> set[str]:
    """Ids of all rules that refuse ``block``, each asked alone."""
    candidate = Candidate(state, block.block, block.event)
    applying = [rule for rule in RULES if rule.effect is Effect.REFUSES and rule.applies(type(block.event))]
    return {rule.id for rule in applying if isinstance(rule.check(candidate), Broken)}


def refusal_of(state: ChainState, block: HashedBlock, *, strict: bool = True) -> ChainError:
    with pytest.raises(ChainError) as caught:
        check_block(state, block, strict=strict)
    return caught.value


def case_id(case: Case) -> str:
    return f"{case.rule} {case.name}".strip()


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_block_that_breaks_one_rule_is_refused_by_that_rule(case: Case) -> None:
    state = state_after(*case.chain)
    block = next_block(state, case.bad, **case.bad_block)
    refusal = refusal_of(state, block)
    assert refusal.rule == case.rule
    assert refusal.sequence_number == block.sequence_number
    assert str(block.hash) in refusal.message
    assert broken_rules(state, block) == {case.rule, *case.also}


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_block_beside_it_passes(case: Case) -> None:
    state = state_after(*(case.chain if case.good_chain is None else case.good_chain))
    check_block(state, next_block(state, case.good))


def test_every_rule_that_refuses_has_a_chain_that_breaks_it() -> None:
    tried = {case.rule for case in CASES} | {"S4", "S6", "S7", "S8", "S9", "X3"}
    assert {rule.id for rule in RULES if rule.effect is Effect.REFUSES} == tried


def test_rules_of_our_own_are_asked_last_and_can_be_left_out() -> None:
    state = state_after(DERIVATIVE)
    block = next_block(state, AddData())
    assert refusal_of(state, block).rule == "B5"
    check_block(state, next_block(state, AddData(new_watermark=instant(1))), strict=False)


def test_the_first_rule_of_several_broken_ones_is_named() -> None:
    state = state_after(ROOT, AddData(new_watermark=instant(5)))
    block = next_block(
        state, AddData(prev_offset=3, new_data=slice_of(9, 1)), sequence_number=7, system_time=instant(1)
    )
    assert broken_rules(state, block) == {"B7", "B8", "P1", "P2", "P3", "P4", "A1"}
    assert refusal_of(state, block).rule == "B7"


def test_equal_system_times_pass() -> None:
    state = state_after(ROOT)
    check_block(state, next_block(state, SetInfo(), second=10))


def test_a_newer_event_passes_by_the_rules_of_every_block() -> None:
    state = state_after(ROOT)
    check_block(state, next_block(state, NEWER))
    assert refusal_of(state, next_block(state, NEWER, sequence_number=5)).rule == "P1"


def test_what_a_newer_variant_of_an_event_says_is_not_guessed() -> None:
    # 10 = SetDataSchema: it is there, so data may follow; what it says cannot be compared.
    opaque = UnknownEvent(type_id=10, reason="a data type of a newer version")
    state = state_after(ROOT, opaque)
    check_block(state, next_block(state, added(0, 9)))
    check_block(state, next_block(state, schema()))


def test_a_newer_set_transform_leaves_inputs_unchecked() -> None:
    state = state_after(DERIVATIVE, UnknownEvent(type_id=5, reason="a newer kind of transform"))
    check_block(state, next_block(state, ADVANCED))


def test_after_a_gap_only_the_end_of_the_chain_is_known() -> None:
    state = ChainState.unread_up_to(object_hash(1), 41)
    check_block(state, next_block(state, added(500, 600)))
    check_block(state, next_block(state, replace(ADVANCED, prev_checkpoint=object_hash(9))))
    assert refusal_of(state, next_block(state, SetInfo(), sequence_number=41)).rule == "P1"


@pytest.mark.parametrize("offset", [2**64 - 1, 2**63])
def test_offsets_at_the_edge_of_their_range_are_compared_and_not_wrapped(offset: int) -> None:
    state = state_after(ROOT, SCHEMA)
    block = next_block(state, AddData(prev_offset=offset, new_data=slice_of(0, 5)))
    assert refusal_of(state, block).rule == "B7"


def test_identical_annotations_and_polling_sources_may_be_repeated() -> None:
    for event in (SetInfo("x"), SetVocab(), polling_source()):
        state = state_after(ROOT, event)
        check_block(state, next_block(state, event))


def test_a_new_transform_with_an_input_at_the_end_continues_the_others() -> None:
    state = state_after(*TWO_STEPS, transform(2, 3))
    check_block(state, next_block(state, executed(source_input(2, 1, 2, 5), source_input(3, None, 1))))


def test_every_rule_says_what_it_demands() -> None:
    for rule in RULES:
        assert rule.summary.endswith("."), rule.id
        assert rule.section
