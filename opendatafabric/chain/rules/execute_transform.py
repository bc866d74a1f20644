"""Rules of ExecuteTransform against the chain (E1 to E9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from opendatafabric.chain.rules.add_data import checkpoint_hash, flaw_of_checkpoint, flaw_of_missing_schema
from opendatafabric.chain.rules.rule import Broken, Candidate
from opendatafabric.metadata.events import ExecuteTransform, ExecuteTransformInput, SetTransform, UnknownEvent

At = Candidate[ExecuteTransform]


def derived_data_have_schema(at: At) -> Broken | None:
    """newData needs a SetDataSchema before it."""
    return flaw_of_missing_schema(at)


def inputs_are_those_of_transform(at: At) -> Broken | None:
    """Inputs are those of the nearest SetTransform in its order; without one, those of the nearest ExecuteTransform."""
    state = at.state
    if isinstance(state.transform, UnknownEvent) or isinstance(state.execute_transform, UnknownEvent):
        return None
    if state.transform is None and state.execute_transform is None:
        return Broken("ExecuteTransform must be preceded by SetTransform", expected="a SetTransform before")
    declared = _declared_inputs(state.transform, state.execute_transform)
    given = [each.dataset_id for each in at.event.query_inputs]
    for number, (expected, found) in enumerate(zip_longest(declared, given)):
        if expected != found:
            message = f"input {number} is not that of the transform"
            return Broken(message, expected=expected or "no more inputs", found=found or "no more inputs")
    return None


def input_blocks_advance(at: At) -> Broken | None:
    """A given ``newBlockHash`` of an input differs from its ``prevBlockHash``."""
    for now, _ in _paired_inputs(at):
        if now.new_block_hash is not None and now.new_block_hash == now.prev_block_hash:
            return Broken(f"blocks of input {now.dataset_id} are an empty interval", found=now.new_block_hash)
    return None


def input_offsets_advance(at: At) -> Broken | None:
    """A given ``newOffset`` of an input differs from its ``prevOffset``."""
    for now, _ in _paired_inputs(at):
        if now.new_offset is not None and now.new_offset == now.prev_offset:
            return Broken(f"records of input {now.dataset_id} are an empty interval", found=now.new_offset)
    return None


def input_blocks_continue(at: At) -> Broken | None:
    """``prevBlockHash`` of an input is where the nearest ExecuteTransform left it."""
    for now, before in _paired_inputs(at):
        expected = before.new_block_hash or before.prev_block_hash
        if now.prev_block_hash != expected:
            return Broken(
                f"blocks of input {now.dataset_id} do not continue the interval before",
                expected=expected or "none",
                found=now.prev_block_hash or "none",
            )
    return None


def input_offsets_continue(at: At) -> Broken | None:
    """``prevOffset`` of an input is where the nearest ExecuteTransform left it."""
    for now, before in _paired_inputs(at):
        expected = before.prev_offset if before.new_offset is None else before.new_offset
        if now.prev_offset != expected:
            return Broken(
                f"records of input {now.dataset_id} do not continue the interval before",
                expected="none" if expected is None else expected,
                found="none" if now.prev_offset is None else now.prev_offset,
            )
    return None


def input_records_need_blocks(at: At) -> Broken | None:
    """An input with ``newOffset`` has ``newBlockHash`` too."""
    for now, _ in _paired_inputs(at):
        if now.new_offset is not None and now.new_block_hash is None:
            return Broken(f"input {now.dataset_id} has new records without new blocks", found=now.new_offset)
    return None


def transform_continues_checkpoint(at: At) -> Broken | None:
    """``prevCheckpoint`` is what the nearest ExecuteTransform left, none if it left none."""
    if isinstance(at.state.execute_transform, UnknownEvent):
        return None
    return flaw_of_checkpoint(at.event, at.state.execute_transform)


def transform_changes_something(at: At) -> Broken | None:
    """ExecuteTransform without newData changes the checkpoint or the watermark, or advances the blocks of an input."""
    before, event = at.state.execute_transform, at.event
    if event.new_data is not None or isinstance(before, UnknownEvent):
        return None
    if any(each.new_block_hash is not None for each in event.query_inputs):
        return None
    if checkpoint_hash(event.new_checkpoint) != event.prev_checkpoint:
        return None
    if event.new_watermark != (before.new_watermark if before else None):
        return None
    return Broken("ExecuteTransform changes nothing: no data, no blocks of inputs, checkpoint and watermark as before")


def _declared_inputs(transform: SetTransform | None, before: ExecuteTransform | None) -> list[object]:
    if transform is not None:
        return [each.dataset_ref for each in transform.inputs]
    return [each.dataset_id for each in before.query_inputs] if before is not None else []


def _paired_inputs(at: At) -> Iterator[tuple[ExecuteTransformInput, ExecuteTransformInput]]:
    """Inputs now and in the nearest ExecuteTransform, by position; none when there is no such block."""
    before = at.state.execute_transform
    if isinstance(before, ExecuteTransform):
        yield from zip(at.event.query_inputs, before.query_inputs, strict=False)
