"""Requests that can be repeated without harm, repeated: the library does so for answers, this for bodies cut short."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from opendatafabric.errors import TransientStorageError
from opendatafabric.limits import HTTP_RESUMES_MAX, S3_REQUEST_S_MAX

T = TypeVar("T")
_WAIT_S: Final = 0.1


async def retried(request: Callable[[], Awaitable[T]]) -> T:
    """What ``request`` gives; transient failures are tried again a few times, each after a longer wait.

    Not when the time for one request is over: a store that hangs would else be waited for again and again.
    """
    begun = time.monotonic()
    for attempt in range(HTTP_RESUMES_MAX):
        try:
            return await request()
        except TransientStorageError:
            if time.monotonic() - begun >= S3_REQUEST_S_MAX:
                raise
            await asyncio.sleep(_WAIT_S * 2**attempt)
    return await request()
