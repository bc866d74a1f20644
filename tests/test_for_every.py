"""Many cases in one test: all are looked at, and those that fail are named."""

from __future__ import annotations

import pytest

from tests.for_every import for_every


def test_all_cases_are_looked_at_and_those_that_fail_are_named() -> None:
    seen = []

    @for_every([3, pytest.param(4, id="four"), 5, 6])
    def test_odd(number: int) -> None:
        seen.append(number)
        if number == 6:
            pytest.fail("even")
        assert number % 2

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases") as caught:
        test_odd()
    assert seen == [3, 4, 5, 6]
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: four"], ["case: 6"]]


def test_no_cases_are_no_success() -> None:
    @for_every([])
    def test_nothing(case: object) -> None:
        raise AssertionError(case)

    with pytest.raises(AssertionError, match="no cases"):
        test_nothing()


@for_every(range(3))
def test_it_is_collected_under_its_own_name(number: int) -> None:
    assert number < 3
