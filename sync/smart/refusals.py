"""Errors of ours ↔ refusals on the wire: one table, used by both ends of both directions."""

from __future__ import annotations

from typing import Any, Final

import orjson

from opendatafabric.errors import (
    ChainsDiverged,
    OdfError,
    RefConflict,
    SeedConflict,
    TransferRejected,
)
from opendatafabric.errors import NameCollision as NameCollisionError
from opendatafabric.errors import RefCollision as RefCollisionError
from opendatafabric.multihash import Multihash
from sync.smart.messages import (
    Empty,
    HeadAndTail,
    PullPhase,
    PushPhase,
    Refusal,
    Refused,
    TakenId,
    TakenName,
    TransferInternalError,
    TwoHeads,
)

CLOSE_NORMAL: Final = 1000
CLOSE_POLICY: Final = 1008
CLOSE_ERROR: Final = 1011
HEAD_MOVED: Final = "head moved"
"""What our servers say of a head that moved before the commit: two hashes do not fit into the reason of a close."""

CLOSE_REASON_BYTES_MAX: Final = 123
"""RFC 6455, 5.5: a control frame carries 125 bytes, two of which are the code."""


_MOVED: Final = "the head of the remote dataset moved while pushing"
_MOVED_HINT: Final = "push again; it starts from the new head"


def internal(phase: PullPhase | PushPhase, message: str) -> Refused:
    """A failure with no kind of its own; ``message`` is shown to the peer's user."""
    return Refused(Err=Refusal(Internal=TransferInternalError(phase=phase, error_message=message)))


def invalid_head(*, peer_head: Multihash | None, own_head: Multihash | None) -> Refused:
    """The pushing side believed in another head."""
    return Refused(Err=Refusal(InvalidHead=TwoHeads(actual_head=peer_head, expected_head=own_head)))


def invalid_interval(*, head: Multihash, tail: Multihash) -> Refused:
    """The pulling side has a block that is not on this chain."""
    return Refused(Err=Refusal(InvalidInterval=HeadAndTail(head=head, tail=tail)))


def refusal_of(error: OdfError, phase: PullPhase | PushPhase) -> Refused:
    """The refusal that says ``error``; what it does not concern stays out of the message."""
    match error:
        case SeedConflict():
            return Refused(Err=Refusal(SeedBlockOverwriteRestricted=Empty()))
        case RefCollisionError() if error.found is not None:
            return Refused(Err=Refusal(RefCollision=TakenId.model_validate({"dataset_id": error.found})))
        case NameCollisionError() if error.found is not None:
            return Refused(Err=Refusal(NameCollision=TakenName(dataset_alias=error.found)))
        case RefConflict():
            return internal(phase, HEAD_MOVED)
        case _:
            return internal(phase, error.message)


def close_reason(refused: Refused) -> str:
    """The JSON of ``refused`` as a close reason, its message cut to what a close frame holds."""
    value = refused.model_dump(exclude_unset=True)
    text = orjson.dumps(value)
    return text.decode() if len(text) <= CLOSE_REASON_BYTES_MAX else _shortened(value)


def _shortened(value: dict[str, Any]) -> str:
    details = value["Err"].get("Internal")
    if details is None:
        return '{"Err":{"NameCollision":{"dataset_alias":""}}}'
    message = details["error_message"][:CLOSE_REASON_BYTES_MAX].encode("ascii", "replace").decode()
    while len(text := orjson.dumps(value)) > CLOSE_REASON_BYTES_MAX:
        message = message[:-1]
        details["error_message"] = message
    return text.decode()


def error_of(refused: Refused) -> OdfError:
    """The refusal of a peer as an error for our user."""
    refusal = refused.Err
    if refusal.InvalidHead is not None:
        return RefConflict(
            _MOVED,
            expected=refusal.InvalidHead.actual_head or "no dataset",
            found=refusal.InvalidHead.expected_head or "no dataset",
            hint=_MOVED_HINT,
        )
    if refusal.InvalidInterval is not None:
        return ChainsDiverged(
            "the local chain is not part of the remote one",
            expected=refusal.InvalidInterval.tail,
            found=refusal.InvalidInterval.head,
            hint="the chains diverged or the local one is ahead; force replaces the local chain",
        )
    if refusal.SeedBlockOverwriteRestricted is not None:
        return SeedConflict("the remote dataset has another id or kind", hint="push it under another name")
    if refusal.RefCollision is not None:
        return RefCollisionError(
            f"the remote repository has dataset {refusal.RefCollision.dataset_id} under another name",
            found=refusal.RefCollision.dataset_id,
        )
    if refusal.NameCollision is not None:
        return NameCollisionError(
            f"the name {refusal.NameCollision.dataset_alias} is taken in the remote repository",
            found=refusal.NameCollision.dataset_alias,
        )
    return _failure(refusal.Internal.error_message if refusal.Internal is not None else "no reason given")


def _failure(message: str) -> OdfError:
    if message == HEAD_MOVED:
        return RefConflict(_MOVED, hint=_MOVED_HINT)
    return TransferRejected(f"the remote repository refused: {message}")
