"""Many objects checked side by side: the first in threads, those of large datasets in a process for each core.

Reading and hashing release Python's lock, decoding records does not, so that threads alone keep one core busy. A
process costs a second to start: small datasets never wait for one. What a process dies of (an object may be made to
break a library, or to fill the memory) costs the verdict on that object, not the run.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Final

from storage.protocols import ObjectReader
from verify.objects import ObjectOutcome, ObjectTask, check_file, check_object, died

LARGE_BYTES_MIN: Final = 64 * 1024 * 1024
"""From so many bytes of objects on, processes are worth their start."""

_TRIES: Final = 2
"""A process that died may have died of another object: each is tried once more, in new processes."""


def cores() -> int:
    """How many this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not every system knows it
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class ObjectChecks:
    """Checks objects of one store, ``parallel`` of them at once. To be closed."""

    def __init__(self, reader: ObjectReader, parallel: int, *, large_bytes_min: int | None = None) -> None:
        self._reader, self._parallel = reader, parallel
        self._large_bytes_min = LARGE_BYTES_MIN if large_bytes_min is None else large_bytes_min
        self._bytes, self._turns = 0, asyncio.Semaphore(parallel)
        self._starting: asyncio.Task[ProcessPoolExecutor] | None = None

    @property
    def at_once(self) -> int:
        """How many should be asked for at a time, so that no process waits for the next one to be brought."""
        return self._parallel if self._parallel < 2 else 2 * self._parallel

    @property
    def is_large(self) -> bool:
        """Whether there was so much that the rest goes to processes."""
        return self._bytes >= self._large_bytes_min

    async def check(self, task: ObjectTask) -> ObjectOutcome:
        """As ``check_object``. While processes are being started, threads go on."""
        self._bytes += task.size or 0
        path = self._reader.local_path(task.key)
        if path is not None and self._parallel > 1 and self.is_large:
            starting = self._start()
            if starting.done() and starting.exception() is None:
                return await self._in_process(path, task)
        async with self._turns:
            return await check_object(self._reader, task)

    async def ready(self) -> None:
        """Return when the processes are there."""
        await asyncio.shield(self._start())

    async def close(self) -> None:
        """End the processes."""
        if self._starting is not None:
            with suppress(BrokenProcessPool, OSError):  # they could not be started, and threads did the work
                pool = await asyncio.shield(self._starting)
                await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)

    def _start(self) -> asyncio.Task[ProcessPoolExecutor]:
        if self._starting is None:
            self._starting = asyncio.create_task(asyncio.to_thread(_new_pool, self._parallel))
        return self._starting

    async def _in_process(self, path: Path, task: ObjectTask) -> ObjectOutcome:
        for _ in range(_TRIES):
            starting = self._start()
            try:
                pool = await asyncio.shield(starting)
                return await asyncio.get_running_loop().run_in_executor(pool, check_file, path, task)
            except BrokenProcessPool:
                if self._starting is starting:
                    self._starting = None
        return died(task)


def _new_pool(parallel: int) -> ProcessPoolExecutor:
    """Processes that have begun. Not forked from here: locks of other threads would be copied as they are."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    pool = ProcessPoolExecutor(parallel, mp_context=context, initializer=_end_with_parent)
    for begun in [pool.submit(os.getpid) for _ in range(parallel)]:
        begun.result()
    return pool


def _end_with_parent() -> None:
    """A parent that was killed closes no queues: whoever waits at them would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
