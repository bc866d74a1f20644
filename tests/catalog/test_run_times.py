"""When runs are due, whatever happens between them: gaps, failures, clocks that go back. Nothing sleeps here."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.run_times import FIRST_WAIT_S, WAIT_S_MAX, Runs, Schedule, due_at, shift_s, wait_s
from opendatafabric.errors import MalformedInput
from storage.cron import next_strike

NOON = 1_767_268_800.0
"""2026-01-01T12:00:00Z."""

crons = st.sampled_from(["* * * * *", "*/5 * * * *", "17 * * * *", "0 3 * * *", "0 0 * * MON", "30 2 29 2 *"])
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
schedules = st.builds(Schedule, crons, zones, st.sampled_from([0.0, 45.0, 3_600.0]))
subjects = st.text(min_size=1, max_size=5)


@dataclass
class Simulation:
    """A worker that looks whenever the clock has moved, and runs at once what is due."""

    schedule: Schedule
    now: float = NOON
    runs: Runs = field(default_factory=lambda: Runs(NOON))
    ran_at: list[float] = field(default_factory=list)

    def due(self) -> float:
        return due_at(self.schedule, "a dataset", self.runs)

    def look(self, *, takes_s: float = 0.0, well: bool = True) -> bool:
        """Run if it is due; whether it was."""
        if self.due() > self.now:
            return False
        self.ran_at.append(self.now)
        self.runs = self.runs.begun(self.now)
        self.now += takes_s
        self.runs = self.runs.ended(self.now, well=well)
        return True


@given(schedule=schedules, subject=subjects, at=st.floats(0, 4e9))
def test_the_next_run_is_later_than_the_last_one_began(schedule: Schedule, subject: str, at: float) -> None:
    assert due_at(schedule, subject, Runs(at)) > at - 1e-3


@given(schedule=schedules, gap_s=st.floats(0, 4e7))
def test_however_many_are_missed_they_are_made_up_once(schedule: Schedule, gap_s: float) -> None:
    worker = Simulation(schedule)
    worker.now = worker.due() + gap_s
    assert worker.look()
    assert not worker.look()
    assert worker.due() > worker.now - 1e-3


@given(schedule=schedules, moves=st.lists(st.floats(-100_000, 100_000), max_size=30))
def test_a_clock_that_goes_back_brings_no_strike_again(schedule: Schedule, moves: list[float]) -> None:
    worker = Simulation(schedule)
    made_up = [worker.runs.made_up_until]
    for move in moves:
        worker.now = max(0.0, worker.now + move)
        due = worker.due()
        if worker.look():
            assert made_up[-1] < due <= worker.runs.made_up_until
            made_up.append(worker.runs.made_up_until)
    assert made_up == sorted(set(made_up))


@given(schedule=schedules, outcomes=st.lists(st.tuples(st.floats(0, 500), st.booleans()), max_size=20))
def test_failures_are_tried_again_later_each_time_and_a_success_goes_back_to_the_schedule(
    schedule: Schedule, outcomes: list[tuple[float, bool]]
) -> None:
    worker = Simulation(schedule)
    failures = 0
    for takes_s, well in outcomes:
        worker.now = max(worker.now, worker.due())
        assert worker.look(takes_s=takes_s, well=well)
        failures = 0 if well else failures + 1
        waited = worker.due() - worker.now
        if failures:
            most = min(FIRST_WAIT_S * 2 ** (failures - 1), WAIT_S_MAX)
            assert most / 2 - 1e-3 <= waited <= most + 1e-3
        else:
            assert worker.due() == due_at(schedule, "a dataset", Runs(worker.runs.made_up_until))


def test_a_failing_job_is_not_asked_more_often_than_it_may() -> None:
    worker = Simulation(Schedule("* * * * *"))
    for _ in range(24 * 60):
        worker.now += 60
        worker.look(well=False)
    assert 24 <= len(worker.ran_at) <= 60


@given(subject=subjects, jitter_s=st.floats(0, 86_400))
def test_jitter_is_the_same_for_a_subject_and_never_more_than_allowed(subject: str, jitter_s: float) -> None:
    schedule = Schedule("0 * * * *", jitter_s=jitter_s)
    assert shift_s(schedule, subject) == shift_s(schedule, subject)
    assert 0 <= shift_s(schedule, subject) <= jitter_s
    strike = next_strike("0 * * * *", NOON - shift_s(schedule, subject))
    assert due_at(schedule, subject, Runs(NOON)) == strike + shift_s(schedule, subject)


def test_jitter_parts_subjects_from_each_other() -> None:
    schedule = Schedule("0 * * * *", jitter_s=3_600)
    assert len({round(shift_s(schedule, f"dataset {number}")) for number in range(100)}) > 90


def test_waits_grow_to_a_maximum_and_never_overflow() -> None:
    assert wait_s("a", 1) <= FIRST_WAIT_S < wait_s("a", 5) < wait_s("a", 1_000_000) <= WAIT_S_MAX


def test_a_schedule_that_is_none_is_refused() -> None:
    with pytest.raises(MalformedInput):
        due_at(Schedule("often"), "a", Runs(0))
