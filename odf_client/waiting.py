"""Waiting for coroutines from code that has no event loop, or has one that runs already: a notebook.

They run in a loop of the client's own, in a thread of its own, which ends with the process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")
_starting = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def begin(work: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Have ``work`` done while other things are."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


def wait(work: Coroutine[Any, Any, Result]) -> Result:
    """What ``work`` comes to; it is cancelled when whoever waits is interrupted."""
    begun = begin(work)
    try:
        return begun.result()
    except BaseException:
        begun.cancel()
        raise


def each(found: AsyncGenerator[Result, None]) -> Iterator[Result]:
    """Whatever ``found`` yields, as it is asked for; it is closed when nobody asks any more."""
    try:
        while True:
            try:
                yield wait(_next(found))
            except StopAsyncIteration:
                return
    finally:
        begin(_close(found))


async def _next(found: AsyncGenerator[Result, None]) -> Result:
    return await anext(found)


async def _close(found: AsyncGenerator[Any, None]) -> None:
    await found.aclose()


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        process = os.getpid()  # after a fork there is the lock, the loop, but no thread
        if process not in _loops:
            _loops.clear()
            _loops[process] = asyncio.new_event_loop()
            threading.Thread(target=_loops[process].run_forever, name="odf-client", daemon=True).start()
        return _loops[process]
