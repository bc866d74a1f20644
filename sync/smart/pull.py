"""Pulling by the smart protocol: both ends as scripts (spec: smart transfer protocol, pull flow).

The client names what it has, the server answers with a plan, then with one pack of all blocks, then with addresses for
whatever objects the client asks for. The head chosen in the first step stays the head of the whole conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.errors import ChainsDiverged, OdfError, ProtocolViolation, TransferRejected
from opendatafabric.limits import OBJECTS_PER_REQUEST_MAX
from opendatafabric.multihash import Multihash
from sync.packed import PackedBlocks
from sync.plan import TransferPlan
from sync.smart.effects import Close, Effect, Receive, ReceiveOrEnd, Script, Send, perform
from sync.smart.messages import (
    MetadataBlocksBatch,
    ObjectFileReference,
    PullAcceptance,
    PullAccepted,
    PullMetadata,
    PullMetadataRequest,
    PullObjectsRequest,
    PullPhase,
    PullRequest,
    PullStrategies,
    PullStrategy,
    TransferUrl,
    WirePlan,
)
from sync.smart.refusals import CLOSE_ERROR, CLOSE_NORMAL, close_reason, internal, invalid_interval

SUCCESS: Final = "Client pull flow succeeded"
_RENEWALS_MAX: Final = 5
_INITIAL: Final = PullPhase(Pull="InitialRequest")
_METADATA: Final = PullPhase(Pull="MetadataRequest")
_OBJECTS: Final = PullPhase(Pull="ObjectsRequest")


# --- server


@dataclass(frozen=True, slots=True)
class ChainInterval:
    """The blocks of a chain after ``begin_after`` up to ``end``, and what they come to."""

    plan: TransferPlan
    end: Multihash | None = None
    begin_after: Multihash | None = None


@dataclass(frozen=True, slots=True)
class PlanInterval(Effect[ChainInterval]):
    """The blocks after ``begin_after`` up to ``stop_at`` or the head.

    ``ChainsDiverged`` (expected: the tail, found: the head) when ``begin_after`` is not below and ``force`` is off.
    """

    begin_after: Multihash | None
    stop_at: Multihash | None
    force: bool


@dataclass(frozen=True, slots=True)
class PackInterval(Effect[MetadataBlocksBatch]):
    """All blocks of the interval in one batch that the peer can read."""

    interval: ChainInterval


@dataclass(frozen=True, slots=True)
class DownloadUrls(Effect[Sequence[TransferUrl]]):
    """An address for each file, in order."""

    files: Sequence[ObjectFile]


@dataclass(frozen=True, slots=True)
class PullOutcome:
    """What a served pull came to."""

    plan: TransferPlan
    objects_requested: int = 0
    error: OdfError | None = None
    """Why it ended before the client had what it asked for."""

    @property
    def refused(self) -> bool:
        return self.error is not None


def pull_server() -> Script[PullOutcome]:
    """The serving end. The client may leave once it knows the plan; whatever goes wrong closes with the reason."""
    phase = [_INITIAL]
    try:
        return (yield from _serve_pull(phase))
    except OdfError as error:
        yield from perform(Close(CLOSE_ERROR, close_reason(internal(phase[0], error.message))))
        return PullOutcome(TransferPlan(), error=error)


def _serve_pull(phase: list[PullPhase]) -> Script[PullOutcome]:
    request = yield from perform(Receive(PullRequest))
    try:
        interval = yield from perform(
            PlanInterval(request.begin_after, request.stop_at, request.force_update_if_diverged)
        )
    except ChainsDiverged as error:
        return (yield from _refuse_interval(error))
    except OdfError as error:
        yield from perform(Send(internal(_INITIAL, error.message)))
        raise
    yield from perform(Send(PullAccepted(Ok=PullAcceptance(transfer_plan=WirePlan.of(interval.plan)))))
    if interval.plan.num_blocks == 0 or (yield from perform(ReceiveOrEnd(PullMetadataRequest))) is None:
        return PullOutcome(interval.plan)
    phase[0] = _METADATA
    batch = yield from perform(PackInterval(interval))
    yield from perform(Send(PullMetadata(blocks=batch)))
    phase[0] = _OBJECTS
    return (yield from _serve_objects(interval.plan))


def _serve_objects(plan: TransferPlan) -> Script[PullOutcome]:
    requested = 0
    while True:
        request = yield from perform(ReceiveOrEnd(PullObjectsRequest))
        if request is None:
            return PullOutcome(plan, requested)
        urls = yield from perform(DownloadUrls([reference.to_file() for reference in request.object_files]))
        requested += len(urls)
        strategies = tuple(
            PullStrategy(object_file=reference, download_from=url)
            for reference, url in zip(request.object_files, urls, strict=True)
        )
        yield from perform(Send(PullStrategies(object_transfer_strategies=strategies)))


def _refuse_interval(error: ChainsDiverged) -> Script[PullOutcome]:
    head, tail = Multihash.from_text(error.found or ""), Multihash.from_text(error.expected or "")
    yield from perform(Send(invalid_interval(head=head, tail=tail)))
    yield from perform(Close(CLOSE_NORMAL, "invalid interval"))
    return PullOutcome(TransferPlan(), error=error)


# --- client


@dataclass(frozen=True, slots=True)
class TakePlan(Effect[bool]):
    """What the server would send; the answer says whether to go on."""

    plan: TransferPlan


@dataclass(frozen=True, slots=True)
class ExaminePack(Effect[Sequence[ObjectFile]]):
    """Check every block of the pack against the chain it continues; the answer: objects that are missing here."""

    pack: PackedBlocks


@dataclass(frozen=True, slots=True)
class DownloadObjects(Effect[Sequence[ObjectFile]]):
    """Fetch these objects and prove them; the answer: those whose address has expired."""

    strategies: Sequence[PullStrategy]


@dataclass(frozen=True, slots=True)
class AppendPack(Effect[Multihash]):
    """Everything is here and proved: store the blocks and move the head; the answer is the new one."""

    pack: PackedBlocks


def pull_client(
    *, begin_after: Multihash | None, stop_at: Multihash | None = None, force: bool = False
) -> Script[Multihash | None]:
    """The pulling end; the new head, or ``None`` when there was nothing to pull."""
    request = PullRequest(begin_after=begin_after, stop_at=stop_at, force_update_if_diverged=force)
    yield from perform(Send(request))
    accepted = yield from perform(Receive(PullAccepted))
    plan = accepted.Ok.transfer_plan.to_plan()
    go_on = yield from perform(TakePlan(plan))
    if plan.num_blocks == 0 or not go_on:
        yield from perform(Close(CLOSE_NORMAL, SUCCESS))
        return None
    yield from perform(Send(PullMetadataRequest()))
    metadata = yield from perform(Receive(PullMetadata))
    pack = PackedBlocks(metadata.blocks.payload, count_max=plan.num_blocks)
    missing = iter((yield from perform(ExaminePack(pack))))
    while files := tuple(islice(missing, OBJECTS_PER_REQUEST_MAX)):
        yield from _download(files)
    head = yield from perform(AppendPack(pack))
    yield from perform(Close(CLOSE_NORMAL, SUCCESS))
    return head


def _download(files: Sequence[ObjectFile]) -> Script[None]:
    for _ in range(_RENEWALS_MAX):
        references = tuple(ObjectFileReference.of(file) for file in files)
        yield from perform(Send(PullObjectsRequest(object_files=references)))
        answer = yield from perform(Receive(PullStrategies))
        if [strategy.object_file for strategy in answer.object_transfer_strategies] != list(references):
            raise ProtocolViolation("the server answers with other objects than were asked for")
        files = yield from perform(DownloadObjects(answer.object_transfer_strategies))
        if not files:
            return
    raise TransferRejected(f"the address of {object_name(files[0])} expires as soon as it is given")


def object_name(file: ObjectFile) -> str:
    """For messages: ``data/f1620…``."""
    return f"{file.kind.value}/{file.physical_hash}"
