"""Pushing by the smart protocol: both ends as scripts (spec: smart transfer protocol, push flow).

The client sends its blocks in one pack, then uploads the objects the server asks for, then says that it is done. The
server believes nothing: blocks are checked on arrival, objects when they arrive and again, for presence, at the end;
only then the head moves, by compare-and-swap. A dataset made by a push is invisible until that moment.

The confirmation of the protocol is ``{}``, and so is a progress request, and a refusal in that place would be read as
success. So after the client's ``Complete`` the server sends nothing but the confirmation; every failure closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.errors import OdfError, ProtocolViolation
from opendatafabric.limits import OBJECTS_PER_REQUEST_MAX, PROGRESS_INTERVAL_S
from opendatafabric.multihash import Multihash
from sync.packed import PackedBlocks
from sync.plan import TransferPlan
from sync.smart.effects import Close, Effect, Receive, ReceiveWithin, Script, Send, perform
from sync.smart.messages import (
    Accepted,
    Empty,
    MetadataBlocksBatch,
    ObjectFileReference,
    Progress,
    ProgressRequest,
    PushComplete,
    PushConfirmed,
    PushMetadata,
    PushObjectsAcceptance,
    PushObjectsAccepted,
    PushObjectsRequest,
    PushPhase,
    PushRequest,
    PushStrategy,
    RunningCount,
    RunningProgress,
    TransferUrl,
    Visibility,
    WirePlan,
)
from sync.smart.refusals import CLOSE_ERROR, CLOSE_NORMAL, close_reason, error_of, invalid_head, refusal_of

SUCCESS: Final = "Client push flow succeeded"
_INITIAL: Final = PushPhase(Push="InitialRequest")
_METADATA: Final = PushPhase(Push="MetadataRequest")
_TARGET: Final = PushPhase(Push="EnsuringTargetExists")
_OBJECTS: Final = PushPhase(Push="ObjectsRequest")
_PROGRESS: Final = PushPhase(Push="ObjectsUploadProgress")
_COMPLETE: Final = PushPhase(Push="CompleteRequest")


# --- server


@dataclass(frozen=True, slots=True)
class ReadHead(Effect[Multihash | None]):
    """The head of the target, ``None`` when there is no such dataset yet."""


@dataclass(frozen=True, slots=True)
class ExaminePush(Effect[None]):
    """Check the pack as what it claims to be: a continuation of the head, or with ``force`` of any block below it, or a
    whole chain of the same seed."""

    pack: PackedBlocks
    force: bool


@dataclass(frozen=True, slots=True)
class EnsureTarget(Effect[None]):
    """Make the dataset if there is none, invisible still. ``RefCollision`` and ``NameCollision`` as they say."""

    visibility: Visibility


@dataclass(frozen=True, slots=True)
class UploadUrls(Effect[Sequence[TransferUrl | None]]):
    """Where to upload each file, in order; ``None`` for one that is there already."""

    files: Sequence[ObjectFile]


@dataclass(frozen=True, slots=True)
class CommitPush(Effect[Multihash]):
    """Require every named object, store the blocks, move the head; the answer is the new one."""


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What a served push came to; ``new_head`` is ``None`` when it was refused, and ``error`` says why."""

    expected_head: Multihash | None
    new_head: Multihash | None
    created: bool = False
    error: OdfError | None = None


def push_server() -> Script[PushOutcome]:
    """The receiving end."""
    phase, head = [_INITIAL], None
    try:
        request = yield from perform(Receive(PushRequest))
        head = yield from perform(ReadHead())
        if request.current_head != head:
            return (yield from _refuse_head(request.current_head, head))
        new_head = yield from _take_push(request, phase)
    except OdfError as error:
        yield from perform(Close(CLOSE_ERROR, close_reason(refusal_of(error, phase[0]))))
        return PushOutcome(head, None, error=error)
    with suppress(OdfError):  # whether or not the client waits for it: the head has moved
        yield from perform(Send(PushConfirmed()))
    return PushOutcome(head, new_head, created=head is None)


def _refuse_head(peer_head: Multihash | None, own_head: Multihash | None) -> Script[PushOutcome]:
    refused = invalid_head(peer_head=peer_head, own_head=own_head)
    yield from perform(Send(refused))
    yield from perform(Close(CLOSE_NORMAL, "invalid head"))
    return PushOutcome(own_head, None, error=error_of(refused))


def _take_push(request: PushRequest, phase: list[PushPhase]) -> Script[Multihash]:
    yield from perform(Send(Accepted(Ok=Empty())))
    metadata = yield from perform(Receive(PushMetadata))
    phase[0] = _METADATA
    announced, found = request.transfer_plan.num_blocks, metadata.new_blocks.num_blocks
    if announced != found:
        raise ProtocolViolation("another number of blocks comes than was announced", expected=announced, found=found)
    pack = PackedBlocks(metadata.new_blocks.payload, count_max=request.transfer_plan.num_blocks)
    yield from perform(ExaminePush(pack, request.force_update_if_diverged))
    phase[0] = _TARGET
    yield from perform(EnsureTarget(request.visibility_for_created_dataset))
    yield from perform(Send(Accepted(Ok=Empty())))
    phase[0] = _OBJECTS
    while (yield from _serve_round(phase)):
        phase[0] = _OBJECTS
    phase[0] = _COMPLETE
    yield from perform(Receive(PushComplete))
    return (yield from perform(CommitPush()))


def _serve_round(phase: list[PushPhase]) -> Script[bool]:
    """One round of objects; whether another follows."""
    request = yield from perform(Receive(PushObjectsRequest))
    urls = yield from perform(UploadUrls([reference.to_file() for reference in request.object_files]))
    strategies = tuple(
        PushStrategy(object_file=reference, push_strategy="SkipUpload" if url is None else "HttpUpload", upload_to=url)
        for reference, url in zip(request.object_files, urls, strict=True)
    )
    yield from perform(Send(PushObjectsAccepted(Ok=PushObjectsAcceptance(object_transfer_strategies=strategies))))
    phase[0] = _PROGRESS
    while True:
        progress = yield from perform(ReceiveWithin(Progress, PROGRESS_INTERVAL_S))
        if progress is None:
            yield from perform(Send(ProgressRequest()))
        elif progress.details == "Complete":
            return request.is_truncated


# --- client


@dataclass(frozen=True, slots=True)
class PackPush(Effect[MetadataBlocksBatch]):
    """All blocks to send, in one batch that the peer can read."""


@dataclass(frozen=True, slots=True)
class StartUploads(Effect[None]):
    """Begin to upload these objects."""

    strategies: Sequence[PushStrategy]


@dataclass(frozen=True, slots=True)
class UploadsOrAsked(Effect[int | None]):
    """Go on uploading: ``None`` once all are done, else, when the peer asks, how many are done so far."""


def push_client(
    *,
    current_head: Multihash | None,
    plan: TransferPlan,
    files: Sequence[ObjectFile],
    force: bool = False,
    visibility: Visibility = "Private",
) -> Script[None]:
    """The pushing end. Returning means confirmed; the caller still reads the head back."""
    yield from perform(
        Send(
            PushRequest(
                current_head=current_head,
                transfer_plan=WirePlan.of(plan),
                force_update_if_diverged=force,
                visibility_for_created_dataset=visibility,
            )
        )
    )
    yield from perform(Receive(Accepted))
    batch = yield from perform(PackPush())
    yield from perform(Send(PushMetadata(new_blocks=batch)))
    yield from perform(Receive(Accepted))
    rounds = [files[at : at + OBJECTS_PER_REQUEST_MAX] for at in range(0, len(files), OBJECTS_PER_REQUEST_MAX)] or [()]
    for number, chosen in enumerate(rounds, start=1):
        yield from _upload_round(chosen, is_truncated=number < len(rounds))
    yield from perform(Send(PushComplete()))
    yield from perform(Receive(PushConfirmed))
    yield from perform(Close(CLOSE_NORMAL, SUCCESS))


def _upload_round(files: Sequence[ObjectFile], *, is_truncated: bool) -> Script[None]:
    references = tuple(ObjectFileReference.of(file) for file in files)
    yield from perform(Send(PushObjectsRequest(object_files=references, is_truncated=is_truncated)))
    answer = yield from perform(Receive(PushObjectsAccepted))
    strategies = answer.Ok.object_transfer_strategies
    if [strategy.object_file for strategy in strategies] != list(references):
        raise ProtocolViolation("the server answers with other objects than it was asked about")
    if any(strategy.push_strategy == "HttpUpload" and strategy.upload_to is None for strategy in strategies):
        raise ProtocolViolation("the server wants an upload and gives no address")
    yield from perform(StartUploads(strategies))
    while (count := (yield from perform(UploadsOrAsked()))) is not None:
        running = RunningProgress(Running=RunningCount(uploaded_objects_count=count))
        yield from perform(Send(Progress(details=running)))
    yield from perform(Send(Progress(details="Complete")))
