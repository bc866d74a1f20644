"""Processes of queries that wait for a request, so that a query need not wait for libraries to be loaded.

Each answers one request and ends: a query of one stranger finds nothing that another left, not even in memory.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from pipeline.query.process import QueryProcess
from pipeline.query.request import QueryRequest
from pipeline.query.starting import Copies, Start, spawned


class _Waiting:
    """A process and the nameless file that its answer goes to."""

    def __init__(self, folder: Path, start: Start) -> None:
        self.sink: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed in the end
        self.process = QueryProcess(self.sink, start)

    def end(self) -> None:
        self.process.end()
        self.sink.close()


class QueryProcesses:
    """At most ``count`` of them wait, from the first query on; answers lie in ``folder`` until they are sent.

    They are copies of one process that has loaded what they need, also those that are wanted when none waits; with a
    ``count`` of 0 there is no such process, and each is started anew.
    """

    def __init__(self, folder: Path, *, count: int) -> None:
        self._folder, self._count = folder, count
        self._waiting: deque[_Waiting] = deque()
        self._lock = threading.Lock()
        self._closed = False
        self._copies: Copies | None = None

    @property
    def folder(self) -> Path:
        """Where what queries need may lie, made when it is needed."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    @asynccontextmanager
    async def answered(self, request: QueryRequest) -> AsyncIterator[BinaryIO]:
        """The whole answer as a file without a name, gone at the end; whoever is cancelled ends the query.

        Raises:
            OdfError: as ``QueryProcess.wait``.
        """
        taken = await asyncio.to_thread(self._take)
        try:
            asked = asyncio.create_task(asyncio.to_thread(_answer, taken.process, request))
            try:
                await asyncio.shield(asked)
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.to_thread(taken.process.kill))
                await asyncio.gather(asked, return_exceptions=True)
                raise
            taken.sink.seek(0)
            yield taken.sink
        finally:
            await asyncio.shield(asyncio.to_thread(self._replace, taken))

    def close(self) -> None:
        """End those that wait."""
        with self._lock:
            self._closed = True
            ending, self._waiting = self._waiting, deque()
            copies, self._copies = self._copies, None
        for each in ending:
            each.end()
        if copies is not None:
            copies.close()

    def _take(self) -> _Waiting:
        while True:
            with self._lock:
                found = self._waiting.popleft() if self._waiting else None
            if found is None:
                return self._made()
            if found.process.alive:
                return found
            found.end()

    def _made(self) -> _Waiting:
        return _Waiting(self.folder, self._start())

    def _start(self) -> Start:
        with self._lock:
            if self._closed or not self._count:
                return spawned
            if self._copies is not None and not self._copies.alive:
                self._copies.close()
                self._copies = None
            self._copies = self._copies or Copies()
            return self._copies.start

    def _replace(self, taken: _Waiting) -> None:
        """Another takes the place of one that has answered."""
        taken.end()
        while len(self._waiting) < self._count and not self._closed:
            made = self._made()
            with self._lock:
                if not self._closed:
                    self._waiting.append(made)
                    continue
            made.end()


def _answer(process: QueryProcess, request: QueryRequest) -> None:
    process.ask(request)
    process.wait()


def size_of(answer: BinaryIO) -> int:
    """How many bytes an answer has."""
    return os.fstat(answer.fileno()).st_size
