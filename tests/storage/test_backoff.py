"""Trying again: as often as it may help, later each time, or when the peer says."""

from __future__ import annotations

import asyncio

import pytest

from opendatafabric.errors import OdfError, PeerUnavailable, TransferRejected
from storage import backoff
from storage.backoff import Busy, asked_wait_s, retried


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited; none really are."""
    waited: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waited


class Failing:
    """Fails with each error in turn, then succeeds."""

    def __init__(self, *errors: OdfError) -> None:
        self._errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return "done"


async def test_success_needs_no_second_try(waits: list[float]) -> None:
    action = Failing()
    assert await retried(action) == "done"
    assert (action.calls, waits) == (1, [])


async def test_what_may_pass_is_tried_again_later_each_time(waits: list[float]) -> None:
    action = Failing(*(PeerUnavailable("away") for _ in range(4)))
    assert await retried(action, first_wait_s=1.0) == "done"
    assert action.calls == 5
    assert all(2**n * 0.5 <= wait <= 2**n for n, wait in enumerate(waits))


async def test_what_cannot_pass_is_final(waits: list[float]) -> None:
    action = Failing(TransferRejected("never"))
    with pytest.raises(TransferRejected):
        await retried(action)
    assert (action.calls, waits) == (1, [])


async def test_tries_come_to_an_end(waits: list[float]) -> None:
    action = Failing(*(PeerUnavailable(str(number)) for number in range(9)))
    with pytest.raises(PeerUnavailable, match="2"):
        await retried(action, tries=3)
    assert (action.calls, len(waits)) == (3, 2)


async def test_the_peer_says_when_to_come_back_within_reason(waits: list[float]) -> None:
    await retried(Failing(Busy("busy", 7.0), Busy("busy", 10_000.0)))
    assert waits == [7.0, backoff.ASKED_WAIT_S_MAX]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0", 0.0),
        ("9" * 400, 999_999_999.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Wed, 31 Dec 1969 23:59:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        ("Thu, 99 Jan 1970 00:01:40 GMT", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str | None, seconds: float | None) -> None:
    assert asked_wait_s(text, now=10.0) == seconds
