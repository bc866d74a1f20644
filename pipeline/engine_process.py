"""An engine as the worker sees it: a process that is started, given jobs, watched and replaced."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import EngineDied, EngineUnavailable, LimitExceeded, error_from
from opendatafabric.limits import ENGINE_START_S_MAX, WORKER_MESSAGE_BYTES_MAX
from pipeline.messages import Message, decode, encode
from pipeline.process_group import kill_group, resident_bytes
from pipeline.worker_place import WorkerOptions, WorkerPlace

Tell = Callable[[Message], None]
_LOOK_EVERY_S: Final = 0.1


class EngineProcess:
    """At most one process at a time; ``run`` starts one when there is none. One job at a time."""

    def __init__(self, place: WorkerPlace, options: WorkerOptions) -> None:
        self._place, self._options = place, options
        self._process: Process | None = None
        self._jobs_done = 0
        self._too_much_memory = False

    async def start(self) -> None:
        """Make sure of a process that is ready.

        Raises:
            EngineUnavailable: it cannot start; says why.
            EngineDied: it ended while it started.
        """
        if self._process is not None and self._process.returncode is None:
            return
        self._jobs_done, self._too_much_memory = 0, False
        with self._place.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(),
                cwd=self._place.work,
                env=self._environment(),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                limit=WORKER_MESSAGE_BYTES_MAX,
                start_new_session=True,
            )
        await self._wait_until_ready()

    async def run(self, request: Message, tell: Tell, *, timeout_s: float) -> Message:
        """The result of a job. Whatever is not a clean end of it, being cancelled too, costs the process.

        Raises:
            LimitExceeded: it took more time or memory than it may.
            EngineDied: the engine ended under it.
            OdfError: what the job raised.
        """
        await self.start()
        finished = False
        watching = asyncio.create_task(self._watch_memory())
        try:
            async with asyncio.timeout(timeout_s):
                last = await self._ask(request, tell)
            finished = True
        except TimeoutError:
            raise LimitExceeded("the job took too long and was ended", expected=f"at most {timeout_s:g} s") from None
        finally:
            watching.cancel()
            if not finished:
                await self.kill()
        if "error" in last:
            raise error_from(last["error"])
        result: Message = last["result"]
        return result

    async def refresh(self) -> None:
        """Replace the process after its share of jobs, or if it is gone, so that the next client finds a warm one."""
        if self._jobs_done >= self._options.jobs_per_engine:
            await self.stop()
        await self.start()

    async def stop(self) -> None:
        """Let the process end by itself; after too long it is killed."""
        if self._process is None or self._process.returncode is not None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), ENGINE_START_S_MAX)
        await self.kill()

    async def kill(self) -> None:
        """End the process and all that it started."""
        if self._process is not None:
            kill_group(self._process.pid)
            await self._process.wait()

    async def _ask(self, request: Message, tell: Tell) -> Message:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with suppress(ConnectionError):
            process.stdin.write(encode(request))
            await process.stdin.drain()
        while True:
            message = await self._next_message(process)
            if "progress" not in message:
                self._jobs_done += 1
                return message
            tell(message)

    async def _next_message(self, process: Process) -> Message:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if line:
            return decode(line)
        kill_group(process.pid)
        code = await process.wait()
        if self._too_much_memory:
            raise LimitExceeded(
                "the job took too much memory and was ended", expected=f"at most {self._options.memory_bytes_max} bytes"
            )
        raise EngineDied(
            f"the Spark engine ended with code {code}: {self._last_words()}", hint=f"its log is {self._place.log}"
        )

    async def _wait_until_ready(self) -> None:
        assert self._process is not None
        try:
            async with asyncio.timeout(ENGINE_START_S_MAX):
                told = await self._next_message(self._process)
        except TimeoutError:
            raise EngineUnavailable(f"Spark did not start within {ENGINE_START_S_MAX} s") from None
        finally:
            if self._process.returncode is None and not locals().get("told"):
                await self.kill()
        if "error" in told:
            await self._process.wait()
            raise error_from(told["error"])

    async def _watch_memory(self) -> None:
        while self._process is not None:
            await asyncio.sleep(_LOOK_EVERY_S)
            taken = await asyncio.to_thread(resident_bytes, self._process.pid)
            if taken > self._options.memory_bytes_max:
                self._too_much_memory = True
                kill_group(self._process.pid)

    def _command(self) -> list[str]:
        python, options = self._options.python or sys.executable, self._options
        return [python, "-P", "-m", options.engine, str(self._place.root), options.to_json()]

    def _environment(self) -> dict[str, str]:
        work = str(self._place.work)
        code = str(Path(__file__).parent.parent)
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": code, "HOME": work, "TMPDIR": work, "TZ": "UTC",
                "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}  # fmt: skip

    def _last_words(self) -> str:
        told = self._place.log.read_bytes()[-2_000:].decode(errors="replace").strip()
        return told or "it printed nothing"
