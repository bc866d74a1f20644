"""Hypothesis strategies of valid chains: what a root or a derivative may do next, drawn step by step."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from opendatafabric.chain.state import ChainState
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.data_schema import DataTypeString
from opendatafabric.metadata.events import (
    AddData,
    ExecuteTransform,
    ExecuteTransformInput,
    Seed,
    SetDataSchema,
    SetInfo,
    SetTransform,
    SetVocab,
)
from opendatafabric.metadata.slices import SourceState
from tests.opendatafabric.chain.chain_samples import (
    DERIVATIVE,
    ROOT,
    SELECT,
    Event,
    checkpoint,
    data_slice,
    instant,
    next_block,
    object_hash,
    optional,
    push_source,
    schema,
    transform,
)


@st.composite
def chains(draw: st.DrawFn, blocks_min: int = 1, blocks_max: int = 12) -> list[HashedBlock]:
    """A chain that keeps every rule, oldest first."""
    seed = draw(st.sampled_from([ROOT, DERIVATIVE]))
    state, blocks = ChainState.empty(), list[HashedBlock]()
    second = draw(st.integers(0, 5))
    for number in range(draw(st.integers(blocks_min, blocks_max))):
        event = seed if number == 0 else draw(_next_events(state, seed))
        second += draw(st.integers(0, 2))
        blocks.append(next_block(state, event, second=second))
        state = state.apply(blocks[-1])
    return blocks


def _next_events(state: ChainState, seed: Seed) -> st.SearchStrategy[Event]:
    annotations = st.one_of(st.builds(SetInfo, st.text(max_size=3)), st.builds(SetVocab, st.just("offset")))
    data = _add_data(state) if seed is ROOT else _derived(state)
    declared = _push_sources(state) if seed is ROOT else annotations
    return st.one_of(annotations, _schemas(state), declared, data, data)


def _schemas(state: ChainState) -> st.SearchStrategy[Event]:
    """The schema in force with one optional field more."""
    before = state.data_schema
    count = len(before.schema.fields) - 2 if isinstance(before, SetDataSchema) and before.schema else 1
    return st.just(schema(*[optional(f"column{number}", DataTypeString()) for number in range(count)]))


def _push_sources(state: ChainState) -> st.SearchStrategy[Event]:
    """A new one, or an existing one with another preprocess step."""

    def fresh(name: str) -> Event:
        plain = push_source(name)
        return push_source(name, SELECT) if state.push_sources.get(name) == plain else plain

    return st.sampled_from(["a", "b", "c"]).map(fresh)


@st.composite
def _add_data(draw: st.DrawFn, state: ChainState) -> AddData:
    previous = state.add_data if isinstance(state.add_data, AddData) else AddData()
    event = AddData(
        prev_checkpoint=None if previous.new_checkpoint is None else previous.new_checkpoint.physical_hash,
        prev_offset=state.last_offset,
        new_watermark=_later(draw, state),
        new_source_state=SourceState("default", "odf/etag", str(state.sequence_number)),
    )
    return _with_objects(draw, state, event)


@st.composite
def _derived(draw: st.DrawFn, state: ChainState) -> SetTransform | ExecuteTransform:
    if state.transform is None:
        return transform(2, 3)
    previous = state.execute_transform if isinstance(state.execute_transform, ExecuteTransform) else None
    inputs = tuple(_advanced(draw, state, previous, position) for position in range(2))
    checkpoint_before = None if previous is None else previous.new_checkpoint
    event = ExecuteTransform(
        query_inputs=inputs,
        prev_checkpoint=None if checkpoint_before is None else checkpoint_before.physical_hash,
        prev_offset=state.last_offset,
        new_watermark=_later(draw, state) or instant(1),
    )
    return _with_objects(draw, state, event)


def _advanced(
    draw: st.DrawFn, state: ChainState, previous: ExecuteTransform | None, position: int
) -> ExecuteTransformInput:
    before = None if previous is None else previous.query_inputs[position]
    prev_block = None if before is None else before.new_block_hash or before.prev_block_hash
    prev_offset = None if before is None else before.prev_offset if before.new_offset is None else before.new_offset
    new_block = object_hash(1_000 + state.sequence_number * 2 + position)
    new_offset = draw(st.none() | st.integers(1, 5).map(lambda more: (prev_offset or 0) + more))
    identity = transform(2, 3).inputs[position].dataset_ref
    return ExecuteTransformInput(identity, prev_block, new_block, prev_offset, new_offset)


def _later(draw: st.DrawFn, state: ChainState) -> object:
    before = state.watermark
    if before is None:
        return draw(st.none() | st.integers(1, 9).map(instant))
    return replace(before, second_of_day=before.second_of_day + draw(st.integers(0, 3)))


def _with_objects(draw: st.DrawFn, state: ChainState, event: AddData | ExecuteTransform) -> AddData | ExecuteTransform:
    if draw(st.booleans()):
        event = replace(event, new_checkpoint=checkpoint(10_000 + state.sequence_number))
    if state.data_schema is not None and draw(st.booleans()):
        start = 0 if state.last_offset is None else state.last_offset + 1
        event = replace(event, new_data=data_slice(start, start + draw(st.integers(0, 9))))
    return event
