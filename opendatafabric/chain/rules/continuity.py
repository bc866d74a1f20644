"""Rules that compare a block with the blocks before it (P0 to P6)."""

from __future__ import annotations

from opendatafabric.chain.rules.rule import AnyCandidate, Broken, Candidate
from opendatafabric.metadata.events import AddPushSource, DataEvent, SetPollingSource, UnknownEvent


def previous_block_exists(at: AnyCandidate) -> Broken | None:
    """The block follows the last block of the chain."""
    if at.block.prev_block_hash == at.state.head:
        return None
    return Broken(
        "the block does not follow the last block of the chain",
        expected=at.state.head or "no prevBlockHash",
        found=at.block.prev_block_hash or "no prevBlockHash",
    )


def sequence_number_follows(at: AnyCandidate) -> Broken | None:
    """The sequence number is the previous one plus 1."""
    expected = at.state.sequence_number + 1
    if at.block.sequence_number == expected:
        return None
    return Broken("the sequence number is out of order", expected=expected, found=at.block.sequence_number)


def system_time_does_not_go_back(at: AnyCandidate) -> Broken | None:
    """The system time is not earlier than the previous block's."""
    before = at.state.system_time
    if before is None or at.block.system_time >= before:
        return None
    return Broken("the system time goes back", expected=f"{before} or later", found=at.block.system_time)


def watermark_does_not_go_back(at: Candidate[DataEvent]) -> Broken | None:
    """The watermark does not shrink and does not vanish against the nearest data block."""
    before, now = at.state.watermark, at.event.new_watermark
    if before is None or (now is not None and now >= before):
        return None
    return Broken("the watermark goes back", expected=f"{before} or later", found=now or "no watermark")


def previous_offset_is_last_offset(at: Candidate[DataEvent]) -> Broken | None:
    """``prevOffset`` is the last offset that the nearest data block left."""
    if at.state.data is None or isinstance(at.state.data, UnknownEvent):
        return None
    if at.event.prev_offset == at.state.last_offset:
        return None
    return Broken(
        "prevOffset is not the last offset of the dataset",
        expected=_or_none(at.state.last_offset),
        found=_or_none(at.event.prev_offset),
    )


def push_source_may_be_added(at: Candidate[AddPushSource]) -> Broken | None:
    """A push source is not added beside a polling source."""
    if at.state.polling_source is None or isinstance(at.state.polling_source, UnknownEvent):
        return None
    return Broken("the dataset has a polling source", expected="no polling source", found="SetPollingSource")


def push_source_is_new_or_changed(at: Candidate[AddPushSource]) -> Broken | None:
    """A push source of a name that exists differs from that one."""
    if at.state.push_sources.get(at.event.source_name) != at.event:
        return None
    return Broken(f"push source {at.event.source_name[:100]!r} is already declared exactly so")


def polling_source_may_be_set(at: Candidate[SetPollingSource]) -> Broken | None:
    """A polling source is not set beside push sources."""
    if at.state.push_source is None or isinstance(at.state.push_source, UnknownEvent):
        return None
    return Broken("the dataset has push sources", expected="no push source", found="AddPushSource")


def _or_none(offset: int | None) -> object:
    return "none" if offset is None else offset
