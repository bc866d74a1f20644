"""The independent computation gives what small histories give when one works them out by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given

from tests.pipeline.epochs.histories import PATTERNS, added, corrected, histories, taken_back
from tests.pipeline.epochs.oracle import (
    APPEND,
    CORRECT_FROM,
    CORRECT_TO,
    RETRACT,
    Block,
    History,
    Row,
    as_of_join,
    distinct,
    fixed_windows,
    interval_join,
    session_windows,
)


def test_a_window_comes_when_the_watermark_reaches_its_end() -> None:
    history = [Block("l", (added(1), added(9, value=5), added(10))), Block("l", (), 9), Block("l", (), 10)]
    assert fixed_windows(history, "l", size=10, slide=10) == [Row(2, APPEND, (0, 10, "a", 2, 6))]


def test_a_record_is_late_for_the_windows_that_have_ended() -> None:
    history = [Block("l", (added(1),), 10), Block("l", (added(9, value=5),), 20)]
    assert fixed_windows(history, "l", size=10, slide=10) == [Row(0, APPEND, (0, 10, "a", 1, 1))]
    assert Row(1, APPEND, (5, 15, "a", 1, 5)) in fixed_windows(history, "l", size=10, slide=5)


def test_windows_that_hop_have_their_records_several_times() -> None:
    history = [Block("l", (added(7),), 100)]
    assert sorted(row.values for row in fixed_windows(history, "l", size=10, slide=5)) == [
        (0, 10, "a", 1, 1),
        (5, 15, "a", 1, 1),
    ]


def test_what_was_taken_back_before_its_window_ended_is_not_in_it() -> None:
    history = [Block("l", (added(1), added(2))), Block("l", (taken_back(added(1)), *corrected(added(2), 7)), 10)]
    assert fixed_windows(history, "l", size=10, slide=10) == [Row(1, APPEND, (0, 10, "a", 1, 7))]


def test_a_window_of_nothing_is_none() -> None:
    history = [Block("l", (added(1), taken_back(added(1))), 10)]
    assert fixed_windows(history, "l", size=10, slide=10) == []


def test_a_session_ends_a_gap_after_its_last_record() -> None:
    history = [Block("l", (added(1), added(4), added(12))), Block("l", (), 9), Block("l", (), 17)]
    assert session_windows(history, "l", gap=5) == [
        Row(1, APPEND, (1, 9, "a", 2, 2)),
        Row(2, APPEND, (12, 17, "a", 1, 1)),
    ]


def test_sessions_are_of_one_key_each() -> None:
    history = [Block("l", (added(1), added(4, "b")), 20)]
    assert [row.values for row in session_windows(history, "l", gap=5)] == [(1, 6, "a", 1, 1), (4, 9, "b", 1, 1)]


def test_a_record_is_late_for_a_session_when_its_own_time_has_passed() -> None:
    history = [Block("l", (added(1),), 4), Block("l", (added(4), added(5)), 20)]
    assert [row.values for row in session_windows(history, "l", gap=5)] == [(1, 10, "a", 2, 2)]


LEFT, RIGHT = (5, "a", 1), (7, "a", 2)
PAIR = (*LEFT, *RIGHT)


def pair(*, retracted: bool = False, right_retracted: bool = False) -> History:
    """One record on each side, taken back again at once if so said."""
    one, other = added(5), added(7, value=2)
    return [
        Block("l", (one, taken_back(one)) if retracted else (one,)),
        Block("r", (other, taken_back(other)) if right_retracted else (other,)),
    ]


@pytest.mark.parametrize(("before", "after", "count"), [(2, 0, 1), (1, 0, 0), (0, 5, 0), (9, 9, 1)])
def test_times_of_a_pair_are_as_near_as_the_bounds_say(before: int, after: int, count: int) -> None:
    assert len(interval_join(pair(), "l", "r", before=before, after=after)) == count


def test_a_pair_comes_with_the_later_of_its_two() -> None:
    assert interval_join(pair(), "l", "r", before=5, after=5) == [Row(1, APPEND, PAIR)]


def test_keys_of_a_pair_are_the_same() -> None:
    history = [Block("l", (added(5),)), Block("r", (added(5, "b"),))]
    assert interval_join(history, "l", "r", before=5, after=5) == []


def test_signs_of_a_pair_are_multiplied() -> None:
    found = interval_join(pair(retracted=True, right_retracted=True), "l", "r", before=5, after=5)
    assert sorted(row.op for row in found) == [APPEND, APPEND, RETRACT, RETRACT]


def test_a_record_is_late_by_the_watermark_of_its_own_input() -> None:
    history = [Block("l", (), 5), Block("r", (added(5, value=2),), 9), Block("l", (added(5), added(6)))]
    assert interval_join(history, "l", "r", before=5, after=5) == [Row(2, APPEND, (6, "a", 1, 5, "a", 2))]


def test_a_record_is_alone_when_both_watermarks_have_passed_what_could_match() -> None:
    history = [Block("l", (added(5),), 20), Block("r", (), 6), Block("r", (), 7), Block("r", (), 8)]
    found = interval_join(history, "l", "r", before=2, after=0, outer=["l"])
    assert found == [Row(2, APPEND, (*LEFT, None, None, None))]


def test_a_record_of_the_right_side_is_alone_in_the_same_manner() -> None:
    history = [Block("r", (added(7, value=2),), 20), Block("l", (), 8), Block("l", (), 9)]
    found = interval_join(history, "l", "r", before=0, after=2, outer=["l", "r"])
    assert found == [Row(2, APPEND, (None, None, None, *RIGHT))]


def test_a_record_whose_other_was_taken_back_is_alone() -> None:
    history = [*pair(right_retracted=True), Block("l", (), 90), Block("r", (), 90)]
    found = interval_join(history, "l", "r", before=5, after=5, outer=["l"])
    assert found[-1] == Row(3, APPEND, (*LEFT, None, None, None))
    assert [row.op for row in found] == [APPEND, RETRACT, APPEND]


VERSIONS = (added(1), added(5, value=2), taken_back(added(8, value=2)))


@pytest.mark.parametrize(("time", "version"), [(0, None), (1, 1), (4, 1), (5, 2), (7, 2), (8, None), (9, None)])
def test_a_record_meets_what_was_there_at_its_time(time: int, version: int | None) -> None:
    history = [Block("r", VERSIONS, 90), Block("l", (added(time),), 90)]
    found = as_of_join(history, "l", "r", outer=True)
    assert [row.values[-1] for row in found] == [version]
    assert len(as_of_join(history, "l", "r")) == (version is not None)


def test_it_comes_when_the_watermark_has_reached_its_time() -> None:
    history = [Block("l", (added(3),), 90), Block("r", VERSIONS, 2), Block("r", (), 3)]
    assert as_of_join(history, "l", "r") == [Row(2, APPEND, (3, "a", 1, 1, "a", 1))]


def test_of_versions_of_one_time_the_last_counts() -> None:
    history = [Block("r", (added(1), *corrected(added(1), 9)), 90), Block("l", (added(3),), 90)]
    assert [row.values[-1] for row in as_of_join(history, "l", "r")] == [9]


def test_a_row_is_given_once_when_its_time_has_passed() -> None:
    history = [Block("l", (added(1), added(1, value=2))), Block("l", (added(1), added(2)), 1)]
    assert distinct(history, "l") == [Row(1, APPEND, (1, "a"))]


def test_a_row_is_there_as_long_as_one_of_its_records_is() -> None:
    history = [Block("l", (added(1), added(1), taken_back(added(1)))), Block("r", (added(2), taken_back(added(2))))]
    closed = [*history, Block("l", (), 9), Block("r", (), 9)]
    assert distinct(closed, "l", "r") == [Row(3, APPEND, (1, "a"))]


@pytest.mark.parametrize("history", PATTERNS.values(), ids=PATTERNS)
def test_no_pattern_takes_back_more_than_there_is(history: History) -> None:
    assert all(count >= 0 for count in _net(history).values())


@given(histories())
def test_drawn_histories_take_back_what_is_there_and_their_watermarks_do_not_go_back(history: History) -> None:
    assert all(count >= 0 for count in _net(history).values())
    for name in ("l", "r"):
        said = [block.watermark for block in history if block.input == name and block.watermark is not None]
        assert said == sorted(said)


@given(histories())
def test_halves_of_corrections_are_neighbours(history: History) -> None:
    for block in history:
        operations = [record.op for record in block.records]
        assert [at + 1 for at, op in enumerate(operations) if op == CORRECT_FROM] == [
            at for at, op in enumerate(operations) if op == CORRECT_TO
        ]


QUERIES: dict[str, Callable[[History], list[Row]]] = {
    "interval join": lambda history: interval_join(history, "l", "r", before=3, after=5, outer=["l", "r"]),
    "as of join": lambda history: as_of_join(history, "l", "r", outer=True),
    "distinct": lambda history: distinct(history, "l", "r"),
    "windows": lambda history: fixed_windows(history, "l", size=10, slide=5),
    "sessions": lambda history: session_windows(history, "l", gap=5),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@given(history=histories())
def test_a_history_that_goes_on_keeps_what_it_gave(query: Callable[[History], list[Row]], history: History) -> None:
    more = [*history, Block("l", (added(7),), 500), Block("r", (added(7),), 500)]
    assert Counter(row for row in query(more) if row.at < len(history)) == Counter(query(history))


def _net(history: History) -> dict[tuple[object, ...], int]:
    found: dict[tuple[object, ...], int] = {}
    for block in history:
        for record in block.records:
            key = (block.input, *record.values)
            found[key] = found.get(key, 0) + record.sign
    return found
