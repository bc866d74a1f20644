"""Finds the Spark worker of a place, or starts one, and has jobs done by it. Imports nothing of Spark."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import EngineDied, EngineUnavailable, error_from
from opendatafabric.limits import WORKER_MESSAGE_BYTES_MAX, WORKER_START_S_MAX
from pipeline.messages import Message, decode, encode
from pipeline.worker_place import JobFolders, WorkerOptions, WorkerPlace

_POLL_S: Final = 0.05
_REPLACEMENTS_MAX: Final = 3
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"

Connection = tuple[StreamReader, StreamWriter]


class WorkerClient:
    """Jobs for the worker of ``place``, which is started if it does not run, with ``options``.

    ``say`` is told in words what is waited for: another job, or Spark to start; ``progress`` what jobs tell.
    """

    def __init__(
        self,
        place: Path,
        options: WorkerOptions | None = None,
        *,
        say: Callable[[str], object] | None = None,
        progress: Callable[[Message], object] | None = None,
    ) -> None:
        self._place, self._options = WorkerPlace(place), options or WorkerOptions()
        self._say, self._progress = say or _ignore, progress or _ignore
        self._stamp = self._options.stamp()

    def folders(self) -> AbstractContextManager[JobFolders]:
        """Folders for what a job is given and makes; use them around ``run``."""
        return self._place.job_folders()

    async def run(
        self,
        job: str,
        arguments: Message,
        *,
        foreign: bool = False,
        timeout_s: float | None = None,
        progress: Callable[[Message], object] | None = None,
    ) -> Message:
        """The result of ``job``. ``foreign`` jobs carry queries of strangers: they run in a sandbox or not at all.

        Cancelling it ends the job.

        Raises:
            EngineUnavailable: no Java, no pyspark, no sandbox for a foreign query.
            EngineDied: engine or worker ended in the middle; another try finds a new one.
            LimitExceeded: the job took more time or memory than it may.
            OdfError: what the job raised.
        """
        request = {"stamp": self._stamp, "job": job, "arguments": arguments, "foreign": foreign, "timeout_s": timeout_s}
        for _ in range(_REPLACEMENTS_MAX):
            try:
                last = await self._converse(await self._connect_or_start(), request, progress or self._progress)
            except _NotTakenError:
                continue
            if "replaced" not in last:
                return _result(last)
            await self._until_gone()
        raise EngineUnavailable("the Spark worker is replaced again and again", hint="two programs differ in options")

    async def end(self) -> None:
        """Ask the running worker, if there is one, to end, and wait until it has."""
        with suppress(FileNotFoundError, ConnectionError, EngineDied):
            await self._converse(await self._connect(), {"end": True}, _ignore)
        await self._until_gone()

    async def _connect_or_start(self) -> Connection:
        started: subprocess.Popen[bytes] | None = None
        deadline = time.monotonic() + WORKER_START_S_MAX
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return await self._connect()
            started = self._started(started)
            await asyncio.sleep(_POLL_S)
        raise EngineUnavailable("the Spark worker does not answer", hint=f"its log is {self._place.log}")

    async def _connect(self) -> Connection:
        with self._place.socket() as path:
            return await asyncio.open_unix_connection(path, limit=WORKER_MESSAGE_BYTES_MAX)

    async def _converse(
        self, connection: Connection, request: Message, progress: Callable[[Message], object]
    ) -> Message:
        """Send the request and return the last answer."""
        reader, writer = connection
        taken = False
        try:
            with suppress(ConnectionError):
                writer.write(encode(request))
                await writer.drain()
            async for message in _messages(reader):
                if "taken" in message:
                    taken = True
                elif "waiting" in message:
                    self._say(f"waiting for {message['waiting']}")
                elif "progress" in message:
                    progress(message["progress"])
                else:
                    return message
        finally:
            writer.close()
        if not taken:
            raise _NotTakenError("the Spark worker ended before it took the job")
        raise EngineDied("the Spark worker ended in the middle of the job", hint="run it again: another one is started")

    def _started(self, process: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        """A worker of ours that runs: ``process`` if it does."""
        if process is not None and process.poll() is None:
            return process
        if process is not None and process.returncode:
            told = self._place.log.read_text(errors="replace").strip() if self._place.log.exists() else ""
            raise EngineUnavailable(f"the Spark worker ended with code {process.returncode}: {told[-2_000:]}")
        self._say("starting the Spark worker")
        command = [sys.executable, "-P", "-m", "pipeline.worker", str(self._place.root), self._options.to_json()]
        with self._place.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._place.root,
                env={"PATH": _PATH, "PYTHONPATH": str(Path(__file__).parent.parent), "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    async def _until_gone(self) -> None:
        """Wait for a worker that said that it ends; its jobs may take their time."""
        while self._place.is_locked():  # noqa: ASYNC110  (another process holds it: there is no event to wait for)
            await asyncio.sleep(_POLL_S)


class _NotTakenError(EngineDied):
    """Whoever was met was about to end: another may be asked without doing anything twice."""


async def _messages(reader: StreamReader) -> AsyncIterator[Message]:
    with suppress(ConnectionError):
        while line := await reader.readline():
            yield decode(line)


def _result(last: Message) -> Message:
    if "error" in last:
        raise error_from(last["error"])
    result: Message = last["result"]
    return result


def _ignore(_: object) -> None:
    pass
