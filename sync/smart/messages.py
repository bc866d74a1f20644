"""Messages of the smart transfer protocol, version 1, as frozen values named as in the specification.

Fields, their order and the tagging of variants are those the reference puts on the wire, which differ from the text of
ODF 0.36 (see ``docs/compatibility.md``). Unknown fields of peers are ignored; types are strict. How a message becomes
text is in ``wire.py``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from opendatafabric.chain.objects import ObjectFile, ObjectKind
from opendatafabric.did import DatasetId
from opendatafabric.limits import URL_CHARS_MAX
from opendatafabric.multihash import Multihash
from sync.plan import TransferPlan

_U64: Final = 2**64 - 1


def _multihash(value: Any) -> Multihash:
    return value if isinstance(value, Multihash) else Multihash.from_text(_text(value))


def _dataset_id(value: Any) -> DatasetId:
    return value if isinstance(value, DatasetId) else DatasetId.from_text(_text(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is expected")
    return value


Count = Annotated[int, Field(ge=0, le=_U64)]
Hash = Annotated[Multihash, BeforeValidator(_multihash), PlainSerializer(str)]
Id = Annotated[DatasetId, BeforeValidator(_dataset_id), PlainSerializer(str)]
Visibility = Literal["Private", "Public"]


class Message(BaseModel):
    """Base of everything that travels."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, arbitrary_types_allowed=True)


class WirePlan(Message):
    """``TransferPlan`` on the wire."""

    num_blocks: Count
    num_objects: Count
    num_records: Count
    bytes_in_raw_blocks: Count
    bytes_in_raw_objects: Count

    @classmethod
    def of(cls, plan: TransferPlan) -> WirePlan:
        return cls(
            num_blocks=plan.num_blocks,
            num_objects=plan.num_objects,
            num_records=plan.num_records,
            bytes_in_raw_blocks=plan.bytes_in_raw_blocks,
            bytes_in_raw_objects=plan.bytes_in_raw_objects,
        )

    def to_plan(self) -> TransferPlan:
        return TransferPlan(**self.model_dump())


class MetadataBlocksBatch(Message):
    """A pack of blocks. ``raw`` is a JSON array of byte values, ``base64`` a text that only our own ends agree on."""

    num_blocks: Count
    media_type: Literal["application/tar+gzip"] = "application/tar+gzip"
    encoding: Literal["raw", "base64"] = "raw"
    payload: bytes


class ObjectFileReference(Message):
    """An object as blocks name it; ``size`` in bytes."""

    object_type: Literal["DataSlice", "Checkpoint"]
    physical_hash: Hash
    size: Count

    @classmethod
    def of(cls, file: ObjectFile) -> ObjectFileReference:
        kind: Literal["DataSlice", "Checkpoint"] = "DataSlice" if file.kind is ObjectKind.DATA_SLICE else "Checkpoint"
        return cls(object_type=kind, physical_hash=file.physical_hash, size=file.size)

    def to_file(self) -> ObjectFile:
        kind = ObjectKind.DATA_SLICE if self.object_type == "DataSlice" else ObjectKind.CHECKPOINT
        return ObjectFile(kind, self.physical_hash, self.size)


class HeaderRow(Message):
    """A header to be sent with a request, as it is (grammar: RFC 9110, 5)."""

    name: Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
    value: Annotated[str, Field(pattern=r"^[\t -~]*$")]


class TransferUrl(Message):
    """Where to get or put an object; ``expires_at`` in RFC 3339 or never."""

    url: Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=URL_CHARS_MAX)]
    headers: tuple[HeaderRow, ...] = ()
    expires_at: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _headers_as_tuple(cls, data: Any) -> Any:
        return _with_tuple(data, "headers")


class PullPhase(Message):
    """Where a pull failed."""

    Pull: Literal["InitialRequest", "MetadataRequest", "ObjectsRequest"]


class PushPhase(Message):
    """Where a push failed."""

    Push: Literal[
        "InitialRequest",
        "MetadataRequest",
        "EnsuringTargetExists",
        "ObjectsRequest",
        "ObjectsUploadProgress",
        "CompleteRequest",
    ]


class TransferInternalError(Message):
    phase: PullPhase | PushPhase
    error_message: str


class Empty(Message):
    """``{}``: what it means, its place in the conversation says."""


class HeadAndTail(Message):
    """An interval that is none: ``tail`` is not met on the way from ``head``."""

    head: Hash
    tail: Hash


class TwoHeads(Message):
    """Beware the names: ``actual_head`` is what the client believed, ``expected_head`` is the server's head."""

    actual_head: Hash | None = None
    expected_head: Hash | None = None


class TakenId(Message):
    """A dataset of that id exists already."""

    dataset_id: Id


class TakenName(Message):
    """A dataset of that name exists already."""

    dataset_alias: str


class Refusal(Message):
    """The ``Err`` of any answer: exactly one of these."""

    Internal: TransferInternalError | None = None
    InvalidInterval: HeadAndTail | None = None
    InvalidHead: TwoHeads | None = None
    SeedBlockOverwriteRestricted: Empty | None = None
    RefCollision: TakenId | None = None
    NameCollision: TakenName | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Refusal:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("exactly one kind of refusal is expected")
        return self


class Refused(Message):
    """``{"Err": …}``: may come in place of any answer, as text or as the reason of a close."""

    Err: Refusal


# --- pull


class PullRequest(Message):
    begin_after: Hash | None = None
    stop_at: Hash | None = None
    force_update_if_diverged: bool


class PullAcceptance(Message):
    transfer_plan: WirePlan


class PullAccepted(Message):
    Ok: PullAcceptance


class PullMetadataRequest(Empty):
    pass


class PullMetadata(Message):
    blocks: MetadataBlocksBatch


class PullObjectsRequest(Message):
    object_files: tuple[ObjectFileReference, ...]

    @model_validator(mode="before")
    @classmethod
    def _files_as_tuple(cls, data: Any) -> Any:
        return _with_tuple(data, "object_files")


class PullStrategy(Message):
    object_file: ObjectFileReference
    pull_strategy: Literal["HttpDownload"] = "HttpDownload"
    download_from: TransferUrl


class PullStrategies(Message):
    object_transfer_strategies: tuple[PullStrategy, ...]

    @model_validator(mode="before")
    @classmethod
    def _strategies_as_tuple(cls, data: Any) -> Any:
        return _with_tuple(data, "object_transfer_strategies")


# --- push


class PushRequest(Message):
    current_head: Hash | None = None
    transfer_plan: WirePlan
    force_update_if_diverged: bool
    visibility_for_created_dataset: Visibility

    @model_validator(mode="before")
    @classmethod
    def _any_case(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("visibility_for_created_dataset") in ("private", "public"):
            return {**data, "visibility_for_created_dataset": data["visibility_for_created_dataset"].capitalize()}
        return data


class Accepted(Message):
    """``{"Ok": {}}``."""

    Ok: Empty


class PushMetadata(Message):
    new_blocks: MetadataBlocksBatch


class PushObjectsRequest(Message):
    object_files: tuple[ObjectFileReference, ...]
    is_truncated: bool

    @model_validator(mode="before")
    @classmethod
    def _files_as_tuple(cls, data: Any) -> Any:
        return _with_tuple(data, "object_files")


class PushStrategy(Message):
    object_file: ObjectFileReference
    push_strategy: Literal["HttpUpload", "SkipUpload"]
    upload_to: TransferUrl | None = None


class PushObjectsAcceptance(Message):
    object_transfer_strategies: tuple[PushStrategy, ...]

    @model_validator(mode="before")
    @classmethod
    def _strategies_as_tuple(cls, data: Any) -> Any:
        return _with_tuple(data, "object_transfer_strategies")


class PushObjectsAccepted(Message):
    Ok: PushObjectsAcceptance


class ProgressRequest(Empty):
    pass


class RunningCount(Message):
    uploaded_objects_count: int


class RunningProgress(Message):
    Running: RunningCount


class Progress(Message):
    """How the uploads of a round go; ``Complete`` ends the round."""

    details: RunningProgress | Literal["Complete"]


class PushComplete(Empty):
    pass


class PushConfirmed(Empty):
    pass


def _with_tuple(data: Any, name: str) -> Any:
    if isinstance(data, dict) and isinstance(data.get(name), list):
        return {**data, name: tuple(data[name])}
    return data
