"""The worker as a child process of the server: started once there is something to do, and again when it dies.

The server itself computes nothing and hosts no JVM. The child has the server's settings by its environment, holds the
other end of a pipe and ends with it, however the server ends; told to end, it finishes what it has begun.
"""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from catalog.jobs import KINDS, Jobs
from opendatafabric.errors import OdfError
from repo_server.config import Settings, environment_of
from repo_server.logs import SERVER
from storage.backoff import jittered_wait_s

STEADY_S: Final = 60.0
"""A worker that lived so long did not die of being started."""

FIRST_WAIT_S: Final = 1.0
WAIT_S_MAX: Final = 60.0
"""Back-off of a worker that dies: from a second to a minute."""

_LOOK_EVERY_S: Final = 5.0
_MORE_S: Final = 5.0
"""How much longer than its jobs the end of a worker may take, before it is killed."""


class WorkerState(StrEnum):
    """How the child is."""

    NOT_NEEDED = "not needed"
    RUNNING = "running"
    WAITING = "waiting to be started again"


class WorkerProcess:
    """At most one child at a time; ``command`` is what runs."""

    def __init__(
        self,
        settings: Settings,
        jobs: Jobs,
        *,
        command: Sequence[str] | None = None,
        wait_s: Callable[[int], float] | None = None,
        look_every_s: float = _LOOK_EVERY_S,
    ) -> None:
        self._settings, self._jobs = settings, jobs
        self._command = command or _command(settings)
        self._wait_s = wait_s or _wait_s
        self._look_every_s = look_every_s
        self.state, self.deaths = WorkerState.NOT_NEEDED, 0
        self._process: Process | None = None
        self._stopping = False

    def stop(self) -> None:
        """Tell the worker to end, and start no other."""
        self._stopping = True
        if self._process is not None:
            _ask_to_end(self._process)

    def as_dict(self) -> dict[str, Any]:
        """For those who watch the server; ``deaths`` in a row."""
        return {"state": self.state.value, "deaths": self.deaths}

    async def run_for_ever(self) -> None:
        """Start a worker when there is something to do, and another one whenever it ends; cancelling ends it too."""
        while not await self._is_needed():  # noqa: ASYNC110  (another process may write the catalog: there is no event)
            await asyncio.sleep(self._look_every_s)
        while not self._stopping:
            began = time.monotonic()
            ended = await self._run()
            if self._stopping:
                return
            self.deaths = 1 if time.monotonic() - began > STEADY_S else self.deaths + 1
            wait_s = self._wait_s(self.deaths)
            self.state = WorkerState.WAITING
            SERVER.warning("the worker %s; it is started again in %.1f s", ended, wait_s)
            await asyncio.sleep(wait_s)

    async def _is_needed(self) -> bool:
        try:
            return await self._jobs.are_any(KINDS)
        except OdfError as error:
            SERVER.warning("jobs cannot be looked for: %s", error)
            return False

    async def _run(self) -> str:
        """Run one until it ends; how it did."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, env=_environment(self._settings), stdin=PIPE, stdout=DEVNULL, start_new_session=True
            )
        except OSError as error:
            return f"cannot be started: {error.strerror}"
        self.state, self._process = WorkerState.RUNNING, process
        if self._stopping:  # told while it was being started
            _ask_to_end(process)
        SERVER.info("worker started", extra={"fields": {"pid": process.pid}})
        try:
            return f"ended with code {await process.wait()}"
        finally:
            await asyncio.shield(self._end(process))

    async def _end(self, process: Process) -> None:
        if process.returncode is not None:
            return
        _ask_to_end(process)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), self._settings.stop_s + _MORE_S)
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _ask_to_end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()


def _command(settings: Settings) -> list[str]:
    # The command of the floor above, by its name, as whoever runs services would start it.
    return [sys.executable, "-P", "-m", "cli.main", "worker", "--attached", "--repo", str(settings.repo)]


def _environment(settings: Settings) -> dict[str, str]:
    return {**environment_of(settings), "PYTHONPATH": str(Path(__file__).parents[2])}


def _wait_s(deaths: int) -> float:
    return jittered_wait_s(deaths - 1, first_wait_s=FIRST_WAIT_S, wait_s_max=WAIT_S_MAX)
