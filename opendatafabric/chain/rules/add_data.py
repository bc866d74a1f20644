"""Rules of AddData against the chain (A1 to A3)."""

from __future__ import annotations

from opendatafabric.chain.rules.rule import Broken, Candidate
from opendatafabric.metadata.events import AddData, DataEvent, UnknownEvent
from opendatafabric.metadata.slices import Checkpoint
from opendatafabric.multihash import Multihash


def added_data_has_schema(at: Candidate[AddData]) -> Broken | None:
    """newData needs a SetDataSchema before it."""
    return flaw_of_missing_schema(at)


def added_data_continues_checkpoint(at: Candidate[AddData]) -> Broken | None:
    """``prevCheckpoint`` is what the nearest AddData left, none if it left none."""
    if isinstance(at.state.add_data, UnknownEvent):
        return None
    return flaw_of_checkpoint(at.event, at.state.add_data)


def added_data_changes_something(at: Candidate[AddData]) -> Broken | None:
    """AddData without newData changes the checkpoint, the watermark or the source state of the nearest AddData."""
    before, event = at.state.add_data, at.event
    if event.new_data is not None or isinstance(before, UnknownEvent):
        return None
    known = (before.new_watermark, before.new_source_state) if before else (None, None)
    if checkpoint_hash(event.new_checkpoint) != event.prev_checkpoint:
        return None
    if (event.new_watermark, event.new_source_state) != known:
        return None
    return Broken("AddData changes nothing: no data, and checkpoint, watermark and source state as before")


def flaw_of_missing_schema(at: Candidate[DataEvent]) -> Broken | None:
    """What A1 and E1 have in common."""
    if at.event.new_data is None or at.state.data_schema is not None:
        return None
    return Broken("data come before their schema", expected="a SetDataSchema before", hint="append SetDataSchema first")


def flaw_of_checkpoint(event: DataEvent, before: DataEvent | None) -> Broken | None:
    """What A2 and E8 have in common; ``before`` is the nearest event of the same kind."""
    expected = None if before is None else checkpoint_hash(before.new_checkpoint)
    if event.prev_checkpoint == expected:
        return None
    return Broken(
        "prevCheckpoint is not the one that the block before left",
        expected=expected or "none",
        found=event.prev_checkpoint or "none",
    )


def checkpoint_hash(checkpoint: Checkpoint | None) -> Multihash | None:
    """The physical hash of a checkpoint that may be missing."""
    return None if checkpoint is None else checkpoint.physical_hash
