"""The one place where heads move: every push, pull, ingest, step, promotion and undoing comes here at its end.

The policy of the dataset is read under a note that whoever changes it waits for, so what was read still holds when the
head moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from opendatafabric.block_ref import HEAD
from opendatafabric.errors import PolicyViolation, SignatureRequired
from opendatafabric.multihash import Multihash
from storage.head_policy import HeadPolicy, read_policy
from storage.head_signatures import is_signed
from storage.held_chain import is_on_chain
from storage.leases import moving, to_its_end
from storage.protocols import ObjectStore, RefStore


@dataclass(frozen=True, slots=True)
class HeadMove:
    """``block_ref`` from one block to another. ``continues`` when that is known to follow on the chain."""

    block_ref: str
    expected_head: Multihash | None
    new_head: Multihash
    continues: bool = False
    by_undo: bool = False


Listener = Callable[[ObjectStore, RefStore, HeadMove], None]
_LISTENER: Final = ContextVar[Listener | None]("listener", default=None)


@contextmanager
def hearing(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of every head that is moved inside, by whatever."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


async def move_head(objects: ObjectStore, refs: RefStore, move: HeadMove) -> None:
    """Carry it out, if the policy of the dataset lets it.

    Raises:
        PolicyViolation: it does not.
        RefConflict: the ref is somewhere else.
    """
    async with moving(objects.leases):
        if move.block_ref == HEAD:
            await _check(objects, await read_policy(objects), move)
        await objects.leases.confirm()
        await to_its_end(refs.compare_and_swap(move.block_ref, expected=move.expected_head, new=move.new_head))
    listener = _LISTENER.get()
    if listener is not None and move.block_ref == HEAD:
        listener(objects, refs, move)


async def _check(objects: ObjectStore, policy: HeadPolicy, move: HeadMove) -> None:
    if policy.signed_by is not None and not await is_signed(objects, move.new_head, policy.signed_by):
        raise SignatureRequired(
            "the new head is not signed by its key",
            expected=policy.signed_by.did_key,
            found=move.new_head,
            hint="whoever has the key signs it first: odf push --sign KEYFILE, or odf sign",
        )
    if move.continues or move.expected_head is None or policy.allows_leaving(by_undo=move.by_undo):
        return
    if await is_on_chain(objects, move.expected_head, move.new_head):
        return
    name = "append-only" if policy.append_only else "force is off"
    raise PolicyViolation(
        f"{name}: the head only moves forward",
        expected=f"blocks that continue {move.expected_head}",
        found=move.new_head,
        hint="pull, and put what you have on top; a maintainer may change the policy: odf policy",
    )
