"""What asks a process that serves to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def stop_asked(*, attached: bool = False) -> AsyncIterator[asyncio.Event]:
    """Set by Ctrl-C, SIGTERM and, if ``attached``, the end of standard input."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    watching = asyncio.create_task(_until_input_ends(stop)) if attached else None
    try:
        yield stop
    finally:
        if watching is not None:
            watching.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _until_input_ends(stop: asyncio.Event) -> None:
    """Whoever started us holds the other end of standard input, and lets go of it when he dies."""
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    await reader.read()
    stop.set()
