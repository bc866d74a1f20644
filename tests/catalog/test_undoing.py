"""Which earlier head an undoing puts back."""

from __future__ import annotations

import pytest

from catalog.datasets import HeadMove
from catalog.undoing import head_to_put_back
from opendatafabric.errors import Conflict, NotFound
from opendatafabric.multihash import physical_hash

A, B, C, STRANGE = (physical_hash(text) for text in (b"a", b"b", b"c", b"strange"))
MOVES = [
    HeadMove(30.0, None, str(B), str(C)),
    HeadMove(20.0, None, str(A), str(B)),
    HeadMove(10.0, None, None, str(A)),
]


def test_it_is_the_head_before_the_last_move() -> None:
    assert head_to_put_back(MOVES, C, since=0.0) == B
    assert head_to_put_back(MOVES[1:], B, since=0.0) == A


def test_after_a_move_that_nobody_wrote_down_it_is_the_last_head_that_was() -> None:
    assert head_to_put_back(MOVES, STRANGE, since=0.0) == C


@pytest.mark.parametrize("moves", [MOVES[2:], []])
def test_before_the_first_head_there_was_none(moves: list[HeadMove]) -> None:
    with pytest.raises(Conflict):
        head_to_put_back(moves, A, since=0.0)


def test_one_that_is_named_was_a_head_of_late() -> None:
    assert head_to_put_back(MOVES, C, since=0.0, wanted=A) == A
    with pytest.raises(NotFound):
        head_to_put_back(MOVES, C, since=20.0, wanted=A)
    with pytest.raises(NotFound):
        head_to_put_back(MOVES, C, since=0.0, wanted=STRANGE)
    with pytest.raises(Conflict):
        head_to_put_back(MOVES, C, since=0.0, wanted=C)
