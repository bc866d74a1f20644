"""The 13 events of a metadata chain (spec: Metadata Events). Slots follow the order of the fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypeVar

from opendatafabric.did import DatasetId
from opendatafabric.errors import UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.metadata.annotations import Attachments
from opendatafabric.metadata.data_schema import DataSchema
from opendatafabric.metadata.slices import Checkpoint, DataSlice, ExtraAttributes, SourceState
from opendatafabric.metadata.sources import FetchStep, MergeStrategy, PrepStep, ReadStep
from opendatafabric.metadata.transform import Transform, TransformInput
from opendatafabric.metadata.wire_types import U64, Wrapped
from opendatafabric.multihash import Multihash


class DatasetKind(Enum):
    """Whether data enters here or is derived; stored as i32."""

    ROOT = 0
    DERIVATIVE = 1


@dataclass(frozen=True, slots=True)
class AddData:
    """Data (or a watermark, or a source state) has been added to a root dataset."""

    prev_checkpoint: Multihash | None = None
    prev_offset: U64 | None = None
    new_data: DataSlice | None = None
    new_checkpoint: Checkpoint | None = None
    new_watermark: Instant | None = None
    new_source_state: SourceState | None = None
    extra: ExtraAttributes | None = None


@dataclass(frozen=True, slots=True)
class ExecuteTransformInput:
    """Blocks and records (prev, new] of one input; ``new_*`` absent means nothing new."""

    dataset_id: DatasetId
    prev_block_hash: Multihash | None = None
    new_block_hash: Multihash | None = None
    prev_offset: U64 | None = None
    new_offset: U64 | None = None


@dataclass(frozen=True, slots=True)
class ExecuteTransform:
    """A derivative dataset has been advanced over its inputs."""

    query_inputs: tuple[ExecuteTransformInput, ...]
    prev_checkpoint: Multihash | None = None
    prev_offset: U64 | None = None
    new_data: DataSlice | None = None
    new_checkpoint: Checkpoint | None = None
    new_watermark: Instant | None = None


@dataclass(frozen=True, slots=True)
class Seed:
    """Identity of the dataset: block 0, once."""

    dataset_id: DatasetId
    dataset_kind: DatasetKind


@dataclass(frozen=True, slots=True)
class SetPollingSource:
    fetch: FetchStep
    prepare: Annotated[tuple[PrepStep, ...] | None, Wrapped()]
    read: ReadStep
    preprocess: Transform | None
    merge: MergeStrategy


@dataclass(frozen=True, slots=True)
class SetTransform:
    inputs: tuple[TransformInput, ...]
    transform: Transform


@dataclass(frozen=True, slots=True)
class SetVocab:
    """Names of the system columns; absent ones fall back to the defaults."""

    offset_column: str | None = None
    operation_type_column: str | None = None
    system_time_column: str | None = None
    event_time_column: str | None = None


@dataclass(frozen=True, slots=True)
class SetAttachments:
    attachments: Attachments


@dataclass(frozen=True, slots=True)
class SetInfo:
    description: str | None = None
    keywords: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SetLicense:
    short_name: str
    name: str
    spdx_id: str | None
    website_url: str


@dataclass(frozen=True, slots=True)
class SetDataSchema:
    """Schema of the slices that follow; exactly one of both forms is given. The legacy one is an Arrow ``Schema``."""

    raw_arrow_schema: bytes | None = None
    schema: DataSchema | None = None


@dataclass(frozen=True, slots=True)
class AddPushSource:
    source_name: str
    read: ReadStep
    preprocess: Transform | None
    merge: MergeStrategy


@dataclass(frozen=True, slots=True)
class DisablePushSource:
    source_name: str


@dataclass(frozen=True, slots=True)
class DisablePollingSource:
    pass


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event this version cannot interpret: a newer kind, or a known kind with a newer variant inside.

    It is stored, hashed and served by the bytes of its block; ``reason`` says what was not understood.
    """

    type_id: int
    reason: str


MetadataEvent = (
    AddData
    | ExecuteTransform
    | Seed
    | SetPollingSource
    | SetTransform
    | SetVocab
    | SetAttachments
    | SetInfo
    | SetLicense
    | SetDataSchema
    | AddPushSource
    | DisablePushSource
    | DisablePollingSource
)
"""Members in the order of their union ids, from 1."""

DataEvent = AddData | ExecuteTransform

Event = TypeVar("Event")


def known_event(event: Event | UnknownEvent, kind: type[Event]) -> Event:
    """The event, if this version can read it; ``UnsupportedVersion`` if not."""
    if not isinstance(event, kind):
        raise UnsupportedVersion(f"the dataset has a {kind.__name__} of a newer version", hint="update this software")
    return event
