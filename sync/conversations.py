"""How often a transfer is begun: a conversation that breaks off is followed by another, which finds what has arrived.

Each attempt looks at both heads anew, so that a push whose confirmation was lost is seen to have arrived.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from opendatafabric import limits
from opendatafabric.errors import OdfError
from storage.backoff import wait_after
from sync.object_requests import Expired
from sync.smart.driver import ConversationBroken

T = TypeVar("T")


async def in_conversations(attempt: Callable[[], Awaitable[T]]) -> T:
    """What ``attempt`` returns, begun anew when its conversation broke or its addresses expired.

    Raises:
        OdfError: the first error of another kind, or the last one.
    """
    for number in range(limits.CONVERSATIONS_MAX):
        try:
            return await attempt()
        except OdfError as error:
            if number + 1 == limits.CONVERSATIONS_MAX or not _may_help(error, first=number == 0):
                raise
            await wait_after(error, number)
    raise AssertionError("a loop over at least one attempt returns or raises")


def _may_help(error: OdfError, *, first: bool) -> bool:
    # A peer that answered once and is away now is starting again; one that was never there is not waited for.
    return isinstance(error, ConversationBroken | Expired) or (error.retryable and not first)
