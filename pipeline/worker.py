"""The Spark worker: keeps one warm engine and lends it to clients of the same user, one job after another.

It listens on a socket in its place, holds the place's lock, watches the engine and replaces it, and goes when nobody
came for a while. It imports nothing of Spark: an engine may crash or be killed, the worker stays and says so.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import EngineUnavailable, OdfError
from opendatafabric.limits import JOB_S_MAX, WORKER_CLIENTS_MAX, WORKER_MESSAGE_BYTES_MAX
from pipeline.engine_process import EngineProcess, Tell
from pipeline.messages import Message, decode, encode, error_message
from pipeline.worker_place import WorkerOptions, WorkerPlace, locked

_LOOK_EVERY_S: Final = 0.2
_SIGN_OF_LIFE_S: Final = 5
_LEFT_S: Final = 2 * JOB_S_MAX
"""Files of a job that waited and ran for so long are nobody's any more."""


class Worker:
    """One worker of a place, already locked by the caller."""

    def __init__(self, place: WorkerPlace, options: WorkerOptions) -> None:
        self._place, self._options, self._stamp = place, options, options.stamp()
        self._engine = EngineProcess(place, options)
        self._one_job = asyncio.Lock()
        self._clients = 0
        self._last_seen = time.monotonic()
        self._doing = "Spark to start"
        self._ending = asyncio.Event()

    async def serve(self) -> None:
        """Until nobody came for ``idle_s``, or somebody asks to end."""
        with self._place.socket() as path:
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(self._meet, path, limit=WORKER_MESSAGE_BYTES_MAX)
            self._warming = asyncio.create_task(self._warm_up())
            try:
                await self._until_idle()
                path.unlink(missing_ok=True)
                server.close()
            except asyncio.CancelledError:
                await self._engine.kill()
                raise
            finally:
                self._warming.cancel()
            await self._finish()

    def end(self) -> None:
        """Ask to end after the jobs that have begun."""
        self._ending.set()

    async def _until_idle(self) -> None:
        while self._clients or not (self._ending.is_set() or self._idle_s() > self._options.idle_s):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait() if not self._clients else asyncio.sleep(1), _LOOK_EVERY_S)

    async def _finish(self) -> None:
        if self._ending.is_set():
            await self._engine.kill()
        else:
            await self._engine.stop()

    def _idle_s(self) -> float:
        return time.monotonic() - self._last_seen

    async def _warm_up(self) -> None:
        """Have an engine ready; why there is none is told to who asks for a job."""
        async with self._one_job:
            with suppress(OdfError):
                await self._engine.refresh()

    async def _meet(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._clients += 1
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            self._clients -= 1
            self._last_seen = time.monotonic()
            writer.close()

    async def _answer(self, reader: StreamReader, writer: StreamWriter) -> None:
        def tell(message: Message) -> None:
            writer.write(encode(message))

        line = await reader.readline()
        if not line:
            return
        try:
            request = decode(line)
            if request.get("stamp") != self._stamp:
                self.end()
                tell({"replaced": True})
                return
            tell({"taken": True})
            self._check_room()
            gone = asyncio.create_task(reader.read())
            try:
                tell({"result": await self._while_connected(gone, request, tell)})
            finally:
                gone.cancel()
        except OdfError as error:
            tell(error_message(error))
        await writer.drain()

    def _check_room(self) -> None:
        if self._clients > WORKER_CLIENTS_MAX:
            raise EngineUnavailable(
                "too many clients wait for the Spark worker",
                expected=f"at most {WORKER_CLIENTS_MAX}",
                hint="try again after a while",
            )

    async def _while_connected(self, gone: asyncio.Task[bytes], request: Message, tell: Tell) -> Message:
        working = asyncio.create_task(self._run(request, tell))
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
            with suppress(asyncio.CancelledError, OdfError):
                await working
            raise ConnectionError("the client is gone")
        return working.result()

    async def _run(self, request: Message, tell: Tell) -> Message:
        timeout_s = min(float(request.get("timeout_s") or JOB_S_MAX), JOB_S_MAX)
        try:
            async with self._signs_of_life(tell):
                await self._one_job.acquire()
            try:
                async with self._signs_of_life(tell):
                    await self._engine.start()
                self._doing = "another job"
                return await self._engine.run(request, tell, timeout_s=timeout_s)
            finally:
                self._doing = "Spark to start"
                self._one_job.release()
        finally:
            self._warming = asyncio.create_task(self._warm_up())

    @asynccontextmanager
    async def _signs_of_life(self, tell: Tell) -> AsyncIterator[None]:
        """Tell what is waited for once it takes longer than a moment, and again as long as it takes."""

        async def say() -> None:
            await asyncio.sleep(_LOOK_EVERY_S)
            while True:
                tell({"waiting": self._doing})
                await asyncio.sleep(_SIGN_OF_LIFE_S)

        saying = asyncio.create_task(say())
        try:
            yield
        finally:
            saying.cancel()


async def serve_worker(place: WorkerPlace, options: WorkerOptions) -> None:
    """Serve until idle; ``SIGTERM`` and Ctrl-C end it at once."""
    worker = Worker(place, options)
    serving = asyncio.ensure_future(worker.serve())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def main(root: str, options_json: str) -> None:
    """Run the worker of a place; if there is one already, there is nothing to do."""
    place = WorkerPlace(Path(root))
    with locked(place.lock) as first:
        if first:
            place.log.write_bytes(b"")
            place.remove_leftovers(before=time.time() - _LEFT_S)
            asyncio.run(serve_worker(place, WorkerOptions.from_json(options_json)))


if __name__ == "__main__":
    main(*sys.argv[1:])
