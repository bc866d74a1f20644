"""How a run of a job stands, as JSON values: the one that goes on or comes next, and the last that ended."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NotRequired

from typing_extensions import TypedDict

from catalog.jobs import JobState
from opendatafabric.errors import NotFound
from repo_server.logs import redacted
from repo_server.moments import moment_or_none


class RunStep(StrEnum):
    """What a run is doing."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"


class RunState(TypedDict):
    """How a run stands; what there is of it follows from its state."""

    run: int
    state: str
    startedAt: NotRequired[str | None]
    endedAt: NotRequired[str | None]
    progress: NotRequired[Mapping[str, Any] | None]
    outcome: NotRequired[Mapping[str, Any] | None]
    error: NotRequired[str]


OVER = frozenset({RunStep.ENDED, RunStep.FAILED})


def plain_run(state: JobState | None, run: int, *, now: float, with_error: bool) -> RunState:
    """The run of that number. ``with_error`` says why it failed; without, only that it did.

    Raises:
        NotFound: nobody asked for it yet, or others have ended since.
    """
    step = _step(state, run, now)
    if state is None or step is None:
        raise NotFound(f"run {run} is not known: it was not asked for, or a later one has ended", hint="GET …/verify")
    told: RunState = {"run": run, "state": step.value}
    if step is RunStep.RUNNING:
        return {**told, "startedAt": moment_or_none(state.began_at), "progress": state.progress}
    if step is RunStep.WAITING:
        return told
    ended: RunState = {**told, "startedAt": moment_or_none(state.began_at), "endedAt": moment_or_none(state.ended_at)}
    if step is RunStep.FAILED:
        return {**ended, "error": redacted(state.error or "") if with_error else "the run failed"}
    return {**ended, "outcome": state.outcome}


def current_run(state: JobState, now: float) -> int:
    """The run that goes on or is due, else the last that ended."""
    return state.run if _step(state, state.run, now) is not None else state.run - 1


def _step(state: JobState | None, run: int, now: float) -> RunStep | None:
    if state is None or run not in {state.run, state.run - 1} or run < 1:
        return None
    if run == state.run - 1:
        return RunStep.ENDED if state.error is None else RunStep.FAILED
    if state.is_running:
        return RunStep.RUNNING
    return RunStep.WAITING if state.due_at is not None and state.due_at <= now else None
