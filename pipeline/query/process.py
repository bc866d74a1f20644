"""The process of a query: started, perhaps before there is a query, asked once, and ended when it takes too much.

No process answers two requests, so nothing of one is left for another.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, Final

import pyarrow as pa

from opendatafabric.errors import EngineDied, LimitExceeded, OdfError, error_from
from pipeline.process_group import kill_group, resident_bytes
from pipeline.query.places import took_too_much_memory
from pipeline.query.request import QueryLimits, QueryRequest
from pipeline.query.starting import Ends, Start, spawned

_LOOK_EVERY_S: Final = 0.1


class QueryProcess:
    """A process that loads what it needs and waits for a request; what it answers goes to ``sink``, or to ``output``.

    Calls wait: use them in a thread.
    """

    def __init__(self, sink: BinaryIO | None = None, start: Start = spawned) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in the end
        self._output: BinaryIO | None = None
        with ExitStack() as theirs:
            source, self._asking = _pipe()
            theirs.callback(source.close)
            if sink is None:
                self._output, sink = _pipe()
                theirs.callback(sink.close)
            self._process = start(Ends(source.fileno(), sink.fileno(), self._errors.fileno()))
        self._excess: str | None = None
        self._watch: threading.Thread | None = None
        self.asked, self._over = threading.Event(), threading.Event()

    @property
    def output(self) -> BinaryIO:
        """Where the answer comes out of a process without a sink."""
        assert self._output is not None
        return self._output

    @property
    def pid(self) -> int:
        """The number of the process, and of its group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended; ``None`` if it has not."""
        return self._process.poll()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.exit_code is None

    def ask(self, request: QueryRequest) -> None:
        """Have it answer; from now on it is watched. A process that has ended says so in ``wait``."""
        self._watch = threading.Thread(target=self._look, args=(request.limits,), daemon=True, name="query-watch")
        self._watch.start()
        self.asked.set()
        with suppress(OSError), self._asking:
            self._asking.write(request.to_json().encode())

    def wait(self) -> None:
        """Wait until it has answered.

        Raises:
            InvalidQuery: it is no query, or does not hold; names the place in it where that is known.
            LimitExceeded: it took too much memory or time, or gave too many bytes.
            MalformedData: a slice cannot be read.
            EngineUnavailable: there is no DataFusion, or no sandbox for queries of others.
            EngineDied: the process ended by itself.
        """
        code = self._process.wait()
        if code == 0:
            return
        if self._excess is not None:
            raise LimitExceeded(self._excess, hint="read less, or allow it more")
        if code == -signal.SIGSEGV:
            raise LimitExceeded("the query is too deep for the engine", hint="fewer operators, unions or brackets")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise _told(lines) or EngineDied(
            f"the process of the query ended with code {code}: {' '.join(lines[:3])[:500] or 'it printed nothing'}",
            hint="it may have taken too much memory",
        )

    def kill(self) -> None:
        """Have it end at once; who waits for it is told."""
        kill_group(self._process.pid)

    def end(self) -> None:
        """End it, whatever it does."""
        self.kill()
        self._process.wait()
        self._over.set()
        for pipe in (self._asking, self._output):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self._watch is not None:
            self._watch.join()
        self._process.forget()
        self._errors.close()

    def _look(self, limits: QueryLimits) -> None:
        deadline = time.monotonic() + limits.time_s
        while self.alive:
            self._excess = self._excess_over(limits, deadline)
            if self._excess is not None:
                kill_group(self._process.pid)
                return
            self._over.wait(_LOOK_EVERY_S)

    def _excess_over(self, limits: QueryLimits, deadline: float) -> str | None:
        if time.monotonic() > deadline:
            return f"the query took longer than {limits.time_s:g} s and was ended"
        if resident_bytes(self._process.pid) > limits.memory_bytes:
            return f"the query took more than {limits.memory_bytes} bytes of memory and was ended"
        return None


@contextmanager
def running_query(request: QueryRequest, start: Start = spawned) -> Iterator[RunningQuery]:
    """The query at work; its process ends with the context. Errors are those of ``QueryProcess.wait``."""
    process = QueryProcess(start=start)
    try:
        process.ask(request)
        yield RunningQuery(process)
    finally:
        process.end()


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


class RunningQuery:
    """The records of a query: ``schema``, then batch after batch."""

    def __init__(self, process: QueryProcess) -> None:
        self.process = process
        try:
            self._stream = pa.ipc.open_stream(process.output)
        except (pa.ArrowException, OSError):
            process.wait()
            raise EngineDied("the process of the query gave no records") from None
        self.schema: pa.Schema = self._stream.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._stream
        except (pa.ArrowException, OSError):
            self.process.wait()
            raise
        self.process.wait()


def _told(lines: list[str]) -> OdfError | None:
    if lines and lines[0].startswith("memory allocation of "):  # it was faster than whoever watches it
        return took_too_much_memory()
    try:
        return error_from(json.loads(lines[-1]))
    except (IndexError, ValueError, AttributeError):
        return None
