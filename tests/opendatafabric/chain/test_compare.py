"""Two chains compared by asking for headers: the answer, and how few questions it takes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.chain.compare import (
    Ahead,
    AskHeaders,
    Behind,
    Comparison,
    Diverged,
    Equal,
    Header,
    Script,
    Side,
    compare_chains,
)
from opendatafabric.errors import BlockNotFound, ChainError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import SetInfo
from opendatafabric.multihash import Multihash
from tests.opendatafabric.chain.chain_samples import DERIVATIVE, ROOT, Event, chain_of, object_hash


def chain(length: int, mark: str = "", fork_at: int = 0) -> list[HashedBlock]:
    """Oldest first; equal up to ``fork_at`` whatever ``mark`` is."""
    events: list[Event] = [ROOT if fork_at or not mark else DERIVATIVE]
    events += [SetInfo(f"{number}{mark if number >= fork_at else ''}") for number in range(1, length)]
    return chain_of(*events[:length])


def head_of(blocks: Sequence[HashedBlock]) -> Multihash | None:
    return blocks[-1].hash if blocks else None


class Conversation:
    """Answers questions out of two chains and remembers them; an answer has at most ``answer_max`` headers."""

    def __init__(self, source: list[HashedBlock], target: list[HashedBlock], answer_max: int = 10_000) -> None:
        self.chains = {Side.SOURCE: source, Side.TARGET: target}
        self.asked: list[AskHeaders] = []
        self.answer_max = answer_max

    def run(self, script: Script) -> Comparison:
        try:
            question = next(script)
            while True:
                question = script.send(self.answer(question))
        except StopIteration as finished:
            result: Comparison = finished.value
            return result

    def answer(self, question: AskHeaders) -> list[Header]:
        self.asked.append(question)
        newest_first = list(reversed(self.chains[question.side]))
        start = next((at for at, block in enumerate(newest_first) if block.hash == question.start), len(newest_first))
        count = min(question.count, self.answer_max)
        return [block.block for block in newest_first[start : start + count]]


def compare(source: list[HashedBlock], target: list[HashedBlock], **options: int) -> Comparison:
    return Conversation(source, target, **options).run(compare_chains(head_of(source), head_of(target)))


def test_equal_heads_need_no_question() -> None:
    conversation = Conversation([], [])
    head = object_hash(1)
    assert conversation.run(compare_chains(head, head)) == Equal(head)
    assert conversation.run(compare_chains(None, None)) == Equal(None)
    assert conversation.asked == []


def test_an_empty_side_is_behind_by_the_whole_chain() -> None:
    assert compare(chain(5), []) == Ahead(None, 5)
    assert compare([], chain(5)) == Behind(None, 5)


def test_a_longer_chain_is_ahead_of_its_prefix() -> None:
    assert compare(chain(9), chain(4)) == Ahead(head_of(chain(4)), 5)
    assert compare(chain(4), chain(9)) == Behind(head_of(chain(4)), 5)


def test_chains_that_fork_have_their_last_common_block_as_ancestor() -> None:
    assert compare(chain(9, "a", 6), chain(7, "b", 6)) == Diverged(chain(6)[-1].hash, 3, 1)


def test_chains_of_other_seeds_have_no_ancestor() -> None:
    assert compare(chain(3), chain(5, "other")) == Diverged(None, 3, 5)


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.integers(1, 7))
def test_any_two_chains_with_any_answers(common: int, source_more: int, target_more: int, answer_max: int) -> None:
    source, target = chain(common + source_more, "a", common), chain(common + target_more, "b", common)
    result = compare(source, target, answer_max=answer_max)
    ancestor = source[common - 1].hash
    if source_more and target_more:
        assert result == Diverged(ancestor, source_more, target_more)
    elif source_more or target_more:
        assert result == (Ahead(ancestor, source_more) if source_more else Behind(ancestor, target_more))
    else:
        assert result == Equal(ancestor)


def test_being_ahead_takes_one_question_per_batch() -> None:
    source, target = chain(2_500), chain(500)
    conversation = Conversation(source, target)
    assert conversation.run(compare_chains(head_of(source), head_of(target))) == Ahead(head_of(target), 2_000)
    assert len(conversation.asked) == 2 + 2


def test_a_far_ancestor_is_found_with_growing_questions() -> None:
    source, target = chain(1_500, "a", 10), chain(1_500, "b", 10)
    conversation = Conversation(source, target)
    assert conversation.run(compare_chains(head_of(source), head_of(target))) == Diverged(
        chain(10)[-1].hash, 1_490, 1_490
    )
    assert len(conversation.asked) <= 20


def test_a_side_that_has_lost_a_block_is_named() -> None:
    source, target = chain(9), chain(4)
    with pytest.raises(BlockNotFound, match="missing in the source"):
        Conversation([*source[:6], *source[7:]], target, answer_max=1).run(
            compare_chains(head_of(source), head_of(target))
        )


def test_a_chain_whose_numbers_do_not_follow_each_other_is_refused() -> None:
    source = chain(9)
    gap = chain_of(ROOT, *[SetInfo(str(number)) for number in range(1, 9)])[:4] + source[6:]
    liar = Conversation(gap, chain(2), answer_max=50)
    with pytest.raises(ChainError, match="of the source does not follow"):
        liar.run(compare_chains(head_of(source), head_of(chain(2))))
