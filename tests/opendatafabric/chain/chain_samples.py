"""Small chains for tests of the rules. Hashes are of a block's description: the rules never look at bytes."""

from __future__ import annotations

from dataclasses import replace

from opendatafabric.chain.state import ChainState
from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.data_schema import (
    DataField,
    DataSchema,
    DataType,
    DataTypeInt32,
    DataTypeInt64,
    DataTypeOption,
    DataTypeString,
    DataTypeTimestamp,
    TimeUnit,
)
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DatasetKind,
    ExecuteTransform,
    ExecuteTransformInput,
    MetadataEvent,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
    UnknownEvent,
)
from opendatafabric.metadata.slices import Checkpoint, DataSlice, OffsetInterval
from opendatafabric.metadata.sources import FetchStepUrl, MergeStrategyAppend, ReadStepNdJson
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from opendatafabric.multihash import HashCodec, Multihash, physical_hash

Event = MetadataEvent | UnknownEvent


def instant(second: int) -> Instant:
    return Instant(2024, 1, second)


def dataset_id(number: int) -> DatasetId:
    return DatasetId.from_signing_key(bytes([number]) * 32)


def object_hash(number: int) -> Multihash:
    return physical_hash(number.to_bytes(4, "little"))


ROOT = Seed(dataset_id(1), DatasetKind.ROOT)
DERIVATIVE = Seed(dataset_id(1), DatasetKind.DERIVATIVE)

SYSTEM_FIELDS = (
    DataField("offset", DataTypeInt64()),
    DataField("op", DataTypeInt32()),
    DataField("system_time", DataTypeTimestamp(TimeUnit.MILLISECOND, "UTC")),
)


def schema(*fields: DataField) -> SetDataSchema:
    return SetDataSchema(schema=DataSchema((*SYSTEM_FIELDS, *fields)))


def optional(name: str, data_type: DataType) -> DataField:
    return DataField(name, DataTypeOption(data_type))


SCHEMA = schema(optional("city", DataTypeString()))


def data_slice(start: int, end: int) -> DataSlice:
    logical = Multihash(HashCodec.ARROW0_SHA3_256, bytes(32))
    return DataSlice(logical, object_hash(start * 1000 + end), OffsetInterval(start, end), 100)


def checkpoint(number: int) -> Checkpoint:
    return Checkpoint(object_hash(number), 10)


def query(*steps: tuple[str | None, str]) -> TransformSql:
    return TransformSql("spark", queries=tuple(SqlQueryStep(alias, text) for alias, text in steps))


SELECT = query((None, "select * from a"))


def transform(*inputs: int) -> SetTransform:
    return SetTransform(tuple(TransformInput(dataset_id(each), f"in{each}") for each in inputs), SELECT)


def executed(*inputs: ExecuteTransformInput, **fields: object) -> ExecuteTransform:
    return replace(ExecuteTransform(inputs, new_watermark=instant(1)), **fields)


def source_input(
    number: int,
    prev_block: int | None = None,
    new_block: int | None = None,
    prev_offset: int | None = None,
    new_offset: int | None = None,
) -> ExecuteTransformInput:
    blocks = [None if each is None else object_hash(each) for each in (prev_block, new_block)]
    return ExecuteTransformInput(dataset_id(number), *blocks, prev_offset, new_offset)


def push_source(name: str, preprocess: TransformSql | None = None) -> AddPushSource:
    return AddPushSource(name, ReadStepNdJson(), preprocess, MergeStrategyAppend())


def polling_source(url: str = "https://example.com/a.json") -> SetPollingSource:
    return SetPollingSource(FetchStepUrl(url), None, ReadStepNdJson(), None, MergeStrategyAppend())


def added(start: int, end: int, **fields: object) -> AddData:
    return replace(AddData(prev_offset=start - 1 if start else None, new_data=data_slice(start, end)), **fields)


def hashed(block: MetadataBlock) -> HashedBlock:
    raw = repr(block).encode()
    return HashedBlock(physical_hash(raw), raw, block)


def next_block(state: ChainState, event: Event, *, second: int = 10, **fields: object) -> HashedBlock:
    """A block with ``event`` that fits behind ``state`` by hash and number; ``fields`` replace parts of it."""
    block = MetadataBlock(instant(second), state.head, state.sequence_number + 1, event)
    return hashed(replace(block, **fields))


def chain_of(*events: Event) -> list[HashedBlock]:
    """Blocks with these events, oldest first, linked and numbered, whatever the rules say."""
    state, blocks = ChainState.empty(), list[HashedBlock]()
    for event in events:
        blocks.append(next_block(state, event))
        state = state.apply(blocks[-1])
    return blocks


def state_after(*events: Event) -> ChainState:
    state = ChainState.empty()
    for block in chain_of(*events):
        state = state.apply(block)
    return state
