"""What becomes of a webhook after each attempt, by the clock of the test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.webhook_schedule import FIRST_WAIT_S, WAIT_S_MAX, Attempt, Standing, WebhookState, after_attempt
from opendatafabric.server_limits import WEBHOOK_RETRY_AFTER_S_MAX

FRESH = Standing(cursor=4, due_at=0.0)
DAY_S = 86_400.0


def after(standing: Standing, attempt: Attempt, *, part: float = 1.0) -> Standing:
    return after_attempt(standing, 5, attempt, paused_after_s=5 * DAY_S, part=part)


@pytest.mark.parametrize("status", [200, 202, 204, 299])
def test_what_was_taken_is_behind_it_and_failures_are_forgotten(status: int) -> None:
    failing = replace(FRESH, failures=3, failing_since=10.0)
    assert after(failing, Attempt(100.0, 1.0, status)) == Standing(5, 100.0)


@pytest.mark.parametrize(
    "attempt", [Attempt(100.0, 0.0, 500), Attempt(100.0, 0.0, 404), Attempt(100.0, 0.0, None, "x")]
)
def test_what_was_not_taken_is_tried_again_later_each_time(attempt: Attempt) -> None:
    standing = FRESH
    for failures in range(1, 5):
        standing = after(standing, attempt)
        assert (standing.cursor, standing.failures, standing.failing_since) == (4, failures, 100.0)
        assert standing.due_at == 100.0 + FIRST_WAIT_S * 2 ** (failures - 1)


def test_the_wait_counts_from_the_end_of_the_attempt() -> None:
    assert after(FRESH, Attempt(100.0, 20.0, None, "slow")).due_at == 120.0 + FIRST_WAIT_S


@pytest.mark.parametrize(
    ("asked_s", "wait_s"),
    [(0.0, FIRST_WAIT_S), (30.0, 30.0), (7_200.0, 7_200.0), (1e9, float(WEBHOOK_RETRY_AFTER_S_MAX))],
)
def test_a_receiver_may_say_when_within_reason(asked_s: float, wait_s: float) -> None:
    asked = Attempt(100.0, 0.0, 429, retry_after_s=asked_s)
    assert after(FRESH, asked).due_at == 100.0 + wait_s


def test_a_receiver_that_is_gone_ends_it() -> None:
    ended = after(FRESH, Attempt(100.0, 0.0, 410))
    assert (ended.state, ended.cursor) == (WebhookState.ENDED, 4)
    assert "410" in (ended.reason or "")


@pytest.mark.parametrize(("after_s", "state"), [(5 * DAY_S - 1, "active"), (5 * DAY_S, "paused")])
def test_one_that_fails_for_days_is_paused_and_says_so(after_s: float, state: str) -> None:
    failing = replace(FRESH, failures=30, failing_since=100.0)
    found = after(failing, Attempt(100.0 + after_s, 0.0, 503))
    assert found.state == state
    assert (found.reason is None) == (state == "active")
    assert found.reason is None or ("5 days" in found.reason and "503" in found.reason)


@given(
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.one_of(st.none(), st.floats(0, 1e12)),
    st.sampled_from([None, 301, 400, 408, 429, 500, 503]),
)
def test_no_wait_is_too_short_or_too_long(
    failures: int, part: float, asked_s: float | None, status: int | None
) -> None:
    standing = replace(FRESH, failures=failures, failing_since=0.0)
    found = after(standing, Attempt(100.0, 0.0, status, None if status else "x", asked_s), part=part)
    longest_s = WAIT_S_MAX if asked_s is None else WEBHOOK_RETRY_AFTER_S_MAX
    assert FIRST_WAIT_S / 2 <= found.due_at - 100.0 <= longest_s
    assert found.cursor == standing.cursor
