"""Rules on a block alone (B1 to B11), whatever the chain before it."""

from __future__ import annotations

from collections import Counter

from opendatafabric.chain.rules.rule import AnyCandidate, Broken, Candidate
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DataEvent,
    DisablePollingSource,
    DisablePushSource,
    ExecuteTransform,
    Seed,
    SetPollingSource,
    SetTransform,
)
from opendatafabric.metadata.sources import FetchStepEthereumLogs
from opendatafabric.metadata.transform import Transform


def source_is_not_disabled(at: Candidate[DisablePollingSource | DisablePushSource]) -> Broken | None:
    """Disabling a source is defined in the format and supported by nobody."""
    return Broken(f"{type(at.event).__name__} is not supported", hint="set another source instead")


def seed_has_no_predecessor(at: Candidate[Seed]) -> Broken | None:
    """A Seed has no ``prevBlockHash``."""
    if at.block.prev_block_hash is None:
        return None
    return Broken("a Seed may only be the first block", expected="no prevBlockHash", found=at.block.prev_block_hash)


def first_block_is_seed(at: AnyCandidate) -> Broken | None:
    """Whatever is not a Seed has a ``prevBlockHash``."""
    if at.block.prev_block_hash is not None or isinstance(at.event, Seed):
        return None
    return Broken("the first block of a chain must be a Seed", expected="Seed", found=type(at.event).__name__)


def first_block_is_number_zero(at: AnyCandidate) -> Broken | None:
    """A block without ``prevBlockHash`` has the sequence number 0."""
    if at.block.prev_block_hash is not None or at.block.sequence_number == 0:
        return None
    return Broken("the first block must have the number 0", expected=0, found=at.block.sequence_number)


def added_data_is_not_empty(at: Candidate[AddData]) -> Broken | None:
    """AddData has at least one of newData, newCheckpoint, newWatermark, newSourceState; ``extra`` does not count."""
    event = at.event
    news = (event.new_data, event.new_checkpoint, event.new_watermark, event.new_source_state)
    return Broken("AddData says nothing") if all(part is None for part in news) else None


def executed_transform_is_not_empty(at: Candidate[ExecuteTransform]) -> Broken | None:
    """ExecuteTransform has at least one of newData, newCheckpoint, newWatermark; advanced inputs alone do not count."""
    event = at.event
    news = (event.new_data, event.new_checkpoint, event.new_watermark)
    return Broken("ExecuteTransform says nothing") if all(part is None for part in news) else None


def data_continues_previous_offset(at: Candidate[DataEvent]) -> Broken | None:
    """newData starts at ``prevOffset`` + 1, or at 0 without ``prevOffset``."""
    if at.event.new_data is None:
        return None
    start, expected = at.event.new_data.offset_interval.start, next_offset(at.event)
    return None if start == expected else Broken("newData does not follow prevOffset", expected=expected, found=start)


def data_does_not_end_before_start(at: Candidate[DataEvent]) -> Broken | None:
    """newData ends where it starts or later."""
    if at.event.new_data is None:
        return None
    interval = at.event.new_data.offset_interval
    if interval.end >= interval.start:
        return None
    return Broken("newData ends before it starts", expected=f"at least {interval.start}", found=interval.end)


def preprocess_is_normal(at: Candidate[AddPushSource | SetPollingSource]) -> Broken | None:
    """The ``preprocess`` of a source is in normal form."""
    return None if at.event.preprocess is None else flaw_of_transform(at.event.preprocess, where="preprocess")


def ethereum_source_names_its_chain(at: Candidate[SetPollingSource]) -> Broken | None:
    """A source of EthereumLogs names ``chainId`` or ``nodeUrl``."""
    fetch = at.event.fetch
    if not isinstance(fetch, FetchStepEthereumLogs) or fetch.chain_id is not None or fetch.node_url is not None:
        return None
    return Broken("a source of EthereumLogs must name chainId or nodeUrl")


def transform_is_normal(at: Candidate[SetTransform]) -> Broken | None:
    """SetTransform has inputs, all of them different ids with an alias, and a transform in normal form."""
    inputs = at.event.inputs
    if not inputs:
        return Broken("SetTransform has no inputs", expected="at least one")
    for each in inputs:
        if not isinstance(each.dataset_ref, DatasetId):
            return Broken("an input is not given by its id", expected="did:odf:…", found=each.dataset_ref)
        if each.alias is None:
            return Broken(f"input {each.dataset_ref} has no alias")
    twice = [dataset_ref for dataset_ref, count in Counter(each.dataset_ref for each in inputs).items() if count > 1]
    if twice:
        return Broken("an input is given twice", found=twice[0])
    return flaw_of_transform(at.event.transform, where="transform")


def flaw_of_transform(transform: Transform, *, where: str) -> Broken | None:
    """What keeps ``transform`` from normal form: ``queries`` alone, an alias on every step but the last."""
    if transform.query is not None:
        return Broken(f"{where} is not in normal form", expected="queries", found="query")
    if not transform.queries:
        return Broken(f"{where} has no queries", expected="at least one")
    *steps, last = transform.queries
    if last.alias is not None:
        return Broken(f"the last query of {where} has an alias", expected="no alias", found=last.alias)
    if any(step.alias is None for step in steps):
        return Broken(f"a query of {where} other than the last has no alias", expected="an alias")
    return None


def next_offset(event: DataEvent) -> int:
    """The offset that the first new record of ``event`` must have."""
    return 0 if event.prev_offset is None else event.prev_offset + 1
