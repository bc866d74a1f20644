"""Of what a record was made: why (the records that were read), how (the query) and where (datasets and sources).

Nothing here reads. Addresses of sources are told without what may be secret in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from opendatafabric.chain.state import ChainState
from opendatafabric.codec.yaml_codec import to_plain
from opendatafabric.did import DatasetId
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    DataEvent,
    ExecuteTransform,
    ExecuteTransformInput,
    SetPollingSource,
    SetTransform,
)
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.metadata.sources import (
    FetchStep,
    FetchStepContainer,
    FetchStepEthereumLogs,
    FetchStepFilesGlob,
    FetchStepUrl,
)
from opendatafabric.multihash import Multihash
from pipeline.engine_records import MadeBy
from pipeline.fetch.places import named_place


@dataclass(frozen=True, slots=True)
class Written:
    """Records that one block brought: ``offsets`` are those that count here, which may be a part of the slice."""

    block: HashedBlock
    data_slice: DataSlice
    offsets: OffsetInterval

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "block": str(self.block.hash),
            "sequenceNumber": self.block.sequence_number,
            "systemTime": str(self.block.block.system_time),
            "event": type(self.block.event).__name__,
            "offsets": [self.offsets.start, self.offsets.end],
            "physicalHash": str(self.data_slice.physical_hash),
            "logicalHash": str(self.data_slice.logical_hash),
        }


@dataclass(frozen=True, slots=True)
class InputRead:
    """What a step read of one input. Without a ``name`` it is not here; ``problem`` says what is not known."""

    dataset_id: DatasetId
    alias: str | None
    name: str | None
    after_block: Multihash | None
    to_block: Multihash | None
    offsets: OffsetInterval | None
    written: tuple[Written, ...] = ()
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.dataset_id),
            "alias": self.alias,
            "name": self.name,
            "afterBlock": None if self.after_block is None else str(self.after_block),
            "toBlock": None if self.to_block is None else str(self.to_block),
            "offsets": None if self.offsets is None else [self.offsets.start, self.offsets.end],
            "written": [each.as_dict() for each in self.written],
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """Of the record at ``offset``; a root has ``sources``, a derivative ``transform`` and ``inputs``.

    ``made_by`` is the engine that computed it, if it was computed here.
    """

    offset: int
    written: Written
    transform: SetTransform | None = None
    inputs: tuple[InputRead, ...] = ()
    sources: tuple[str, ...] = ()
    problem: str | None = None
    made_by: MadeBy | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "offset": self.offset,
            "written": self.written.as_dict(),
            "transform": None if self.transform is None else to_plain(self.transform.transform),
            "inputs": [each.as_dict() for each in self.inputs],
            "madeBy": None if self.made_by is None else self.made_by.as_dict(),
            "sources": list(self.sources),
            "problem": self.problem,
        }


def written_in(blocks: Iterable[HashedBlock], wanted: OffsetInterval) -> list[Written]:
    """The records of ``wanted`` that these blocks brought, in the order of the blocks."""
    found: list[Written] = []
    for block in blocks:
        data_slice = block.event.new_data if isinstance(block.event, DataEvent) else None
        if data_slice is None:
            continue
        held = data_slice.offset_interval
        start, end = max(held.start, wanted.start), min(held.end, wanted.end)
        if start <= end:
            found.append(Written(block, data_slice, OffsetInterval(start, end)))
    return found


def inputs_read(event: ExecuteTransform, transform: SetTransform | None) -> list[InputRead]:
    """What the step says it read, in the order of its inputs, by the names that the query has for them."""
    aliases = {} if transform is None else {each.dataset_ref: each.alias for each in transform.inputs}
    return [
        InputRead(
            dataset_id=each.dataset_id,
            alias=aliases.get(each.dataset_id),
            name=None,
            after_block=each.prev_block_hash,
            to_block=each.new_block_hash,
            offsets=_offsets_read(each),
        )
        for each in event.query_inputs
    ]


def sources_of(event: AddData, state: ChainState) -> tuple[str, ...]:
    """Where records of a root may have come from, by what was in force: one place, unless there are several to push to
    and the block does not say which."""
    if isinstance(state.polling_source, SetPollingSource):
        return (f"polled from {place_of(state.polling_source.fetch)}",)
    said = None if event.new_source_state is None else event.new_source_state.source_name
    return tuple(f"pushed into '{each}'" for each in ([said] if said in state.push_sources else state.push_sources))


def place_of(fetch: FetchStep) -> str:
    """What is polled, without users, passwords, queries, variables and the keys that nodes have in their paths."""
    if isinstance(fetch, FetchStepUrl):
        return named_place(fetch.url)
    if isinstance(fetch, FetchStepFilesGlob):
        return named_place(fetch.path)
    if isinstance(fetch, FetchStepContainer):
        return f"container {fetch.image}"
    if isinstance(fetch, FetchStepEthereumLogs):
        return f"logs of Ethereum{_of_node(fetch)}"
    return f"mqtt {fetch.host}:{fetch.port}"


def _of_node(fetch: FetchStepEthereumLogs) -> str:
    if fetch.node_url is None:
        return "" if fetch.chain_id is None else f", chain {fetch.chain_id}"
    try:
        host = urlsplit(named_place(fetch.node_url)).hostname
    except ValueError:
        host = None
    return "" if host is None else f" at {host}"


def _offsets_read(given: ExecuteTransformInput) -> OffsetInterval | None:
    if given.new_offset is None:
        return None
    return OffsetInterval(0 if given.prev_offset is None else given.prev_offset + 1, given.new_offset)
