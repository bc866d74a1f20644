"""Budgets: never more in any window than was promised, never less than was earned, and no more memory than was set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.budgets import Budget, Budgets

BUDGETS = st.builds(Budget, st.integers(1, 50), st.floats(0.1, 1_000))


def test_all_of_it_may_be_taken_at_once_and_comes_back_steadily() -> None:
    budgets = Budgets(Budget(3, 30))
    taken = [budgets.take("a", 100.0) for _ in range(4)]
    assert [(each.granted, each.left) for each in taken] == [(True, 2), (True, 1), (True, 0), (False, 0)]
    assert taken[3].wait_s == pytest.approx(10)
    assert taken[3].full_in_s == pytest.approx(30)
    assert not budgets.take("a", 109.9).granted
    assert budgets.take("a", 110.0).granted
    assert budgets.take("b", 100.0).left == 2


def test_what_costs_more_than_there_is_takes_nothing() -> None:
    budgets = Budgets(Budget(3, 30))
    assert not budgets.take("a", 0.0, cost=4).granted
    assert budgets.take("a", 0.0, cost=3).granted


def test_a_clock_that_was_set_back_locks_nobody_out() -> None:
    budgets = Budgets(Budget(2, 10))
    budgets.take("a", 1_000_000.0)
    assert budgets.take("a", 0.0).wait_s <= 5
    assert budgets.take("a", 5.0).granted


@given(budget=BUDGETS, waits=st.lists(st.floats(0, 100), max_size=60), costs=st.data())
def test_no_window_holds_more_than_twice_the_budget_and_waiting_as_told_helps(
    budget: Budget, waits: list[float], costs: st.DataObject
) -> None:
    budgets, now, granted = Budgets(budget), 0.0, list[tuple[float, int]]()
    for wait in waits:
        now += wait
        cost = costs.draw(st.integers(1, budget.count))
        taken = budgets.take("a", now, cost)
        if not taken.granted:
            assert 0 < taken.wait_s <= budget.window_s * (1 + 1e-6)
            now += taken.wait_s * (1 + 1e-6) + 1e-6
            taken = budgets.take("a", now, cost)
        assert taken.granted
        assert 0 <= taken.left <= budget.count - cost
        granted.append((now, cost))
    for start, _ in granted:
        within = sum(cost for at, cost in granted if start <= at < start + budget.window_s)
        assert within <= 2 * budget.count


@given(budget=BUDGETS, times=st.lists(st.floats(0, 100), max_size=60).map(sorted))
def test_one_key_takes_nothing_from_another(budget: Budget, times: list[float]) -> None:
    alone, together = Budgets(budget), Budgets(budget)
    for now in times:
        together.take("b", now)
        assert alone.take("a", now) == together.take("a", now)


def test_keys_that_were_not_used_for_longest_are_forgotten_first() -> None:
    budgets = Budgets(Budget(1, 10), keys_max=3)
    for key in ("a", "b", "c"):
        assert budgets.take(key, 0.0).granted
    assert not budgets.take("a", 1.0).granted
    assert budgets.take("d", 1.0).granted
    assert len(budgets) == 3
    assert not budgets.take("a", 2.0).granted
    assert budgets.take("b", 2.0).granted
