"""Starts the process of a query, takes its records as they come, and ends it when it takes too much."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

from opendatafabric.errors import EngineDied, LimitExceeded, OdfError, error_from
from pipeline.process_group import kill_group, resident_bytes
from pipeline.query.places import took_too_much_memory
from pipeline.query.request import QueryLimits, QueryRequest

_LOOK_EVERY_S: Final = 0.1


@contextmanager
def running_query(request: QueryRequest) -> Iterator[RunningQuery]:
    """The query at work; its process ends with the context. Calls of what it gives wait: use them in a thread.

    Raises:
        InvalidQuery: it is no query, or does not hold; names the place in it where that is known.
        LimitExceeded: it took too much memory or time.
        MalformedData: a slice cannot be read.
        EngineUnavailable: there is no DataFusion, or no sandbox for queries of others.
        EngineDied: the process ended by itself.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pipeline.query.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
            start_new_session=True,
        )
        watch = _Watch(process, request.limits)
        watch.thread.start()
        try:
            yield RunningQuery(process, watch, errors, request)
        finally:
            kill_group(process.pid)
            process.wait()
            _close(process)
            watch.thread.join()


class RunningQuery:
    """The records of a query: ``schema``, then batch after batch."""

    def __init__(
        self, process: subprocess.Popen[bytes], watch: _Watch, errors: IO[bytes], request: QueryRequest
    ) -> None:
        self._process, self._watch, self._errors = process, watch, errors
        assert process.stdin is not None
        try:
            with process.stdin:
                process.stdin.write(request.to_json().encode())
            self._stream = pa.ipc.open_stream(process.stdout)
        except (pa.ArrowException, OSError):
            self._check_end()
            raise EngineDied("the process of the query gave no records") from None
        self.schema: pa.Schema = self._stream.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._stream
        except (pa.ArrowException, OSError):
            self._check_end()
            raise
        self._check_end()

    def _check_end(self) -> None:
        """Wait for the end and raise what went wrong."""
        code = self._process.wait()
        if code == 0:
            return
        if self._watch.reason is not None:
            raise LimitExceeded(self._watch.reason, hint="read less, or allow it more")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise _told(lines) or EngineDied(
            f"the process of the query ended with code {code}: {' '.join(lines[:3])[:500] or 'it printed nothing'}",
            hint="it may have taken too much memory",
        )


@dataclass(slots=True)
class _Watch:
    """Looks after a process until it ends; ``reason`` says why it was ended."""

    process: subprocess.Popen[bytes]
    limits: QueryLimits
    reason: str | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._look, daemon=True, name="query-watch")

    def _look(self) -> None:
        deadline = time.monotonic() + self.limits.time_s
        while self.process.poll() is None:
            self.reason = self._excess(deadline)
            if self.reason is not None:
                kill_group(self.process.pid)
                return
            time.sleep(_LOOK_EVERY_S)

    def _excess(self, deadline: float) -> str | None:
        if time.monotonic() > deadline:
            return f"the query took longer than {self.limits.time_s:g} s and was ended"
        if resident_bytes(self.process.pid) > self.limits.memory_bytes:
            return f"the query took more than {self.limits.memory_bytes} bytes of memory and was ended"
        return None


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    process.stdout.close()


def _told(lines: list[str]) -> OdfError | None:
    if lines and lines[0].startswith("memory allocation of "):  # it was faster than whoever watches it
        return took_too_much_memory()
    try:
        return error_from(json.loads(lines[-1]))
    except (IndexError, ValueError, AttributeError):
        return None


def _environment() -> dict[str, str]:
    code = str(Path(__file__).parents[2])
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": code, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
