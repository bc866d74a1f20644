"""What a coordinator and an engine say to each other (spec: Engine Contract): queries over files, and their outcome.

Each request and each response root is one FlatBuffer of its own, carried as bytes in a gRPC message.
"""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.metadata.transform import Transform
from opendatafabric.metadata.wire_types import U64


@dataclass(frozen=True, slots=True)
class DatasetVocabulary:
    """Names of the system columns, all given: what SetVocab leaves out is filled in with the defaults."""

    offset_column: str
    operation_type_column: str
    system_time_column: str
    event_time_column: str


@dataclass(frozen=True, slots=True)
class Watermark:
    """At ``system_time`` no events older than ``event_time`` were expected any more."""

    system_time: Instant
    event_time: Instant


@dataclass(frozen=True, slots=True)
class RawQueryRequest:
    """A query over files without a dataset around them; paths are the engine's."""

    input_data_paths: tuple[str, ...]
    transform: Transform
    output_data_path: str


@dataclass(frozen=True, slots=True)
class RawQueryResponseProgress:
    pass


@dataclass(frozen=True, slots=True)
class RawQueryResponseSuccess:
    num_records: U64


@dataclass(frozen=True, slots=True)
class RawQueryResponseInvalidQuery:
    message: str


@dataclass(frozen=True, slots=True)
class RawQueryResponseInternalError:
    message: str
    backtrace: str | None = None


RawQueryResponse = (
    RawQueryResponseProgress | RawQueryResponseSuccess | RawQueryResponseInvalidQuery | RawQueryResponseInternalError
)


@dataclass(frozen=True, slots=True)
class RawQueryResponseRoot:
    value: RawQueryResponse


@dataclass(frozen=True, slots=True)
class TransformRequestInput:
    """New records of one input, none without ``offset_interval``; ``schema_file`` is a Parquet file of its schema."""

    dataset_id: DatasetId
    dataset_alias: DatasetAlias
    query_alias: str
    vocab: DatasetVocabulary
    offset_interval: OffsetInterval | None
    data_paths: tuple[str, ...]
    schema_file: str
    explicit_watermarks: tuple[Watermark, ...]


@dataclass(frozen=True, slots=True)
class TransformRequest:
    """One step of a derivative dataset; paths are the engine's, files at ``new_*`` do not exist yet."""

    dataset_id: DatasetId
    dataset_alias: DatasetAlias
    system_time: Instant
    vocab: DatasetVocabulary
    transform: Transform
    query_inputs: tuple[TransformRequestInput, ...]
    next_offset: U64
    prev_checkpoint_path: str | None
    new_checkpoint_path: str
    new_data_path: str


@dataclass(frozen=True, slots=True)
class TransformResponseProgress:
    pass


@dataclass(frozen=True, slots=True)
class TransformResponseSuccess:
    new_offset_interval: OffsetInterval | None = None
    new_watermark: Instant | None = None


@dataclass(frozen=True, slots=True)
class TransformResponseInvalidQuery:
    message: str


@dataclass(frozen=True, slots=True)
class TransformResponseInternalError:
    message: str
    backtrace: str | None = None


TransformResponse = (
    TransformResponseProgress
    | TransformResponseSuccess
    | TransformResponseInvalidQuery
    | TransformResponseInternalError
)


@dataclass(frozen=True, slots=True)
class TransformResponseRoot:
    value: TransformResponse


EngineMessage = RawQueryRequest | RawQueryResponseRoot | TransformRequest | TransformResponseRoot
"""What is a FlatBuffer of its own."""
