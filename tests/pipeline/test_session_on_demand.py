"""When a session is made, by whom, and what becomes of one that failed or died."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from opendatafabric.errors import EngineUnavailable
from pipeline.session_on_demand import SessionOnDemand


class Held:
    """A session that is a word."""

    session: Any = "session"

    def __init__(self) -> None:
        self.alive, self.closed = True, False

    def answers(self) -> bool:
        return self.alive

    def close(self) -> None:
        self.closed = True


class Starts:
    """Starts ``held``, after failing ``failures`` times; ``told`` counts all of them."""

    def __init__(self, failures: int = 0) -> None:
        self.held, self.failures, self.told, self.ready = Held(), failures, 0, threading.Event()

    def __call__(self) -> Held:
        self.told += 1
        self.ready.set()
        if self.told <= self.failures:
            raise EngineUnavailable("there is no Java")
        return self.held


def test_nothing_starts_before_somebody_asks() -> None:
    starts = Starts()
    sessions = SessionOnDemand(starts)
    assert sessions.is_sound()
    sessions.close()
    assert starts.told == 0


def test_all_jobs_share_one_session() -> None:
    starts = Starts()
    sessions = SessionOnDemand(starts)
    assert sessions.get() is sessions.get()
    assert starts.told == 1


def test_the_session_made_in_the_background_is_the_one_that_jobs_get() -> None:
    starts = Starts()
    sessions = SessionOnDemand(starts)
    sessions.warm_up()
    sessions.warm_up()
    assert starts.ready.wait(10)
    assert sessions.get() == Held.session
    assert starts.told == 1


def test_what_failed_in_the_background_is_told_to_the_job_that_asks_and_tried_again() -> None:
    starts = Starts(failures=2)
    sessions = SessionOnDemand(starts)
    sessions.warm_up()
    assert starts.ready.wait(10)
    with pytest.raises(EngineUnavailable):
        sessions.get()
    assert sessions.get() == Held.session


def test_a_jvm_that_died_harms_only_the_job_that_asked_for_it() -> None:
    starts = Starts()
    sessions = SessionOnDemand(starts)
    sessions.get()
    assert sessions.is_sound()
    starts.held.alive = False
    assert sessions.is_sound()
    sessions.get()
    assert not sessions.is_sound()


def test_the_end_closes_what_was_opened() -> None:
    starts = Starts()
    sessions = SessionOnDemand(starts)
    sessions.get()
    sessions.close()
    assert starts.held.closed
