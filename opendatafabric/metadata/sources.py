"""Where the data of a root dataset comes from: fetch, prepare, read, merge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from opendatafabric.metadata.wire_types import I32, U64, UnionOf


class CompressionFormat(Enum):
    GZIP = 0
    ZIP = 1


class SourceOrdering(Enum):
    BY_EVENT_TIME = 0
    BY_NAME = 1


class MqttQos(Enum):
    AT_MOST_ONCE = 0
    AT_LEAST_ONCE = 1
    EXACTLY_ONCE = 2


@dataclass(frozen=True, slots=True)
class EventTimeSourceFromMetadata:
    pass


@dataclass(frozen=True, slots=True)
class EventTimeSourceFromPath:
    pattern: str
    timestamp_format: str | None = None


@dataclass(frozen=True, slots=True)
class EventTimeSourceFromSystemTime:
    pass


EventTimeSource = EventTimeSourceFromMetadata | EventTimeSourceFromPath | EventTimeSourceFromSystemTime


@dataclass(frozen=True, slots=True)
class SourceCachingForever:
    pass


SourceCaching = Annotated[SourceCachingForever, UnionOf("SourceCaching")]


@dataclass(frozen=True, slots=True)
class RequestHeader:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class EnvVar:
    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class MqttTopicSubscription:
    path: str
    qos: MqttQos | None = None


@dataclass(frozen=True, slots=True)
class FetchStepUrl:
    url: str
    event_time: EventTimeSource | None = None
    cache: SourceCaching | None = None
    headers: tuple[RequestHeader, ...] | None = None


@dataclass(frozen=True, slots=True)
class FetchStepFilesGlob:
    path: str
    event_time: EventTimeSource | None = None
    cache: SourceCaching | None = None
    order: SourceOrdering | None = None


@dataclass(frozen=True, slots=True)
class FetchStepContainer:
    image: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None


@dataclass(frozen=True, slots=True)
class FetchStepMqtt:
    host: str
    port: I32
    username: str | None
    password: str | None
    topics: tuple[MqttTopicSubscription, ...]


@dataclass(frozen=True, slots=True)
class FetchStepEthereumLogs:
    chain_id: U64 | None = None
    node_url: str | None = None
    filter: str | None = None
    signature: str | None = None


FetchStep = FetchStepUrl | FetchStepFilesGlob | FetchStepContainer | FetchStepMqtt | FetchStepEthereumLogs


@dataclass(frozen=True, slots=True)
class PrepStepDecompress:
    format: CompressionFormat
    sub_path: str | None = None


@dataclass(frozen=True, slots=True)
class PrepStepPipe:
    command: tuple[str, ...]


PrepStep = PrepStepDecompress | PrepStepPipe


@dataclass(frozen=True, slots=True)
class ReadStepCsv:
    schema: tuple[str, ...] | None = None
    separator: str | None = None
    encoding: str | None = None
    quote: str | None = None
    escape: str | None = None
    header: bool | None = None
    infer_schema: bool | None = None
    null_value: str | None = None
    date_format: str | None = None
    timestamp_format: str | None = None


@dataclass(frozen=True, slots=True)
class ReadStepGeoJson:
    schema: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReadStepEsriShapefile:
    schema: tuple[str, ...] | None = None
    sub_path: str | None = None


@dataclass(frozen=True, slots=True)
class ReadStepParquet:
    schema: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReadStepJson:
    sub_path: str | None = None
    schema: tuple[str, ...] | None = None
    date_format: str | None = None
    encoding: str | None = None
    timestamp_format: str | None = None


@dataclass(frozen=True, slots=True)
class ReadStepNdJson:
    schema: tuple[str, ...] | None = None
    date_format: str | None = None
    encoding: str | None = None
    timestamp_format: str | None = None


@dataclass(frozen=True, slots=True)
class ReadStepNdGeoJson:
    schema: tuple[str, ...] | None = None


ReadStep = (
    ReadStepCsv
    | ReadStepGeoJson
    | ReadStepEsriShapefile
    | ReadStepParquet
    | ReadStepJson
    | ReadStepNdJson
    | ReadStepNdGeoJson
)


@dataclass(frozen=True, slots=True)
class MergeStrategyAppend:
    pass


@dataclass(frozen=True, slots=True)
class MergeStrategyLedger:
    primary_key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergeStrategySnapshot:
    primary_key: tuple[str, ...]
    compare_columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class MergeStrategyChangelogStream:
    primary_key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergeStrategyUpsertStream:
    primary_key: tuple[str, ...]


MergeStrategy = (
    MergeStrategyAppend
    | MergeStrategyLedger
    | MergeStrategySnapshot
    | MergeStrategyChangelogStream
    | MergeStrategyUpsertStream
)
