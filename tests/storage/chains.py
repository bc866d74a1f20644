"""Small valid chains for tests of stores: a Seed, then whatever is added, each block linked to the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeInt64
from opendatafabric.metadata.events import (
    AddData,
    DatasetKind,
    MetadataEvent,
    Seed,
    SetDataSchema,
    SetInfo,
)
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash

RECORDS_PER_SLICE = 10


def dataset_id(number: int = 1) -> DatasetId:
    return new_dataset_id(number.to_bytes(32, "big"))


def instant(number: int) -> Instant:
    return Instant(2024, 1 + number // 86_400, number % 86_400)


@dataclass
class ChainBuilder:
    """Blocks oldest first, and the objects they name."""

    id: DatasetId = field(default_factory=dataset_id)
    kind: DatasetKind = DatasetKind.ROOT
    blocks: list[HashedBlock] = field(default_factory=list)
    slices: dict[Multihash, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.blocks:
            self.add(Seed(self.id, self.kind))

    @property
    def head(self) -> Multihash:
        return self.blocks[-1].hash

    def add(self, event: MetadataEvent) -> HashedBlock:
        number = len(self.blocks)
        previous = self.blocks[-1].hash if self.blocks else None
        block = encode_block(MetadataBlock(instant(number), previous, number, event))
        self.blocks.append(block)
        return block

    def info(self, text: str) -> HashedBlock:
        return self.add(SetInfo(description=text))

    def data(self, content: bytes) -> HashedBlock:
        """A slice of ``RECORDS_PER_SLICE`` records; ``content`` stands for the Parquet file."""
        if not any(isinstance(block.event, SetDataSchema) for block in self.blocks):
            self.add(SetDataSchema(schema=DataSchema((DataField("offset", DataTypeInt64()),))))
        name = physical_hash(content)
        last = self.last_offset
        start = 0 if last is None else last + 1
        self.slices[name] = content
        new_data = DataSlice(
            Multihash(HashCodec.ARROW0_SHA3_256, name.digest),
            name,
            OffsetInterval(start, start + RECORDS_PER_SLICE - 1),
            len(content),
        )
        return self.add(AddData(prev_offset=last, new_data=new_data))

    @property
    def last_offset(self) -> int | None:
        for block in reversed(self.blocks):
            if isinstance(block.event, AddData) and block.event.new_data is not None:
                return block.event.new_data.offset_interval.end
        return None

    def fork(self, length: int) -> ChainBuilder:
        """Another chain that shares the first ``length`` blocks."""
        return ChainBuilder(self.id, self.kind, self.blocks[:length], dict(self.slices))


def chain(texts: Sequence[str] = (), *, number: int = 1) -> ChainBuilder:
    """A Seed and one SetInfo for each text."""
    builder = ChainBuilder(dataset_id(number))
    for text in texts:
        builder.info(text)
    return builder
