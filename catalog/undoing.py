"""Which earlier head of a dataset an undoing puts back: the one before the last move, or one that is named."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.datasets import HeadMove
from opendatafabric.errors import Conflict, NotFound
from opendatafabric.multihash import Multihash

_HINT = "odf reflog shows what the head was"


def head_to_put_back(
    moves: Sequence[HeadMove], head: Multihash, *, since: float, wanted: Multihash | None = None
) -> Multihash:
    """The head to put back instead of ``head``; ``moves`` are the newest first, as ``Datasets.moves`` tells them.

    Raises:
        NotFound: the one that is wanted was no head since that time.
        Conflict: there was none before, or it is the head.
    """
    if wanted is None:
        before = _before(moves, head)
    elif str(wanted) in _heads(moves, since):
        before = str(wanted)
    else:
        raise NotFound(f"{wanted} was no head of the dataset of late", hint=_HINT)
    if before is None or before == str(head):
        raise Conflict("there is no earlier head to put back", found=head, hint=_HINT)
    return Multihash.from_text(before)


def _before(moves: Sequence[HeadMove], head: Multihash) -> str | None:
    if not moves:
        return None
    last = moves[0]
    # A head that nobody wrote down was moved past the server: what stood before it is the last that was.
    return last.expected_head if last.new_head == str(head) else last.new_head


def _heads(moves: Sequence[HeadMove], since: float) -> set[str]:
    of_late = [move for move in moves if move.at > since]
    return {head for move in of_late for head in (move.expected_head, move.new_head) if head is not None}
