"""Notes that die of silence: their holder gives a sign of life every minute, and others take him for dead without one.

For stores where no lock dies with a process. The holder counts the seconds since his own last sign and stops trusting
his notes at half of what others wait: whatever he began before has ended when they act. See docs/adr/0006.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from opendatafabric.errors import OdfError, TransientStorageError
from opendatafabric.limits import LEASE_RENEW_S, LEASE_SILENCE_S_MAX

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts on while the machine sleeps, where there is such a clock."""


def seconds() -> float:
    """By a clock that nobody sets."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True)
class _Held:
    signed_at: float
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    signing: asyncio.Task[None] | None = None


class SignsOfLife:
    """The notes that this holder placed; ``sign`` gives one of them, by its token, a sign of life."""

    def __init__(self, sign: Callable[[str], Awaitable[None]]) -> None:
        self._sign = sign
        self._held: dict[str, _Held] = {}

    @property
    def tokens(self) -> Set[str]:
        """Notes that stand, whatever it looks like."""
        return self._held.keys()

    def begin(self, token: str, *, began: float) -> None:
        """Give signs from now on; the first was given no earlier than ``began`` (``seconds``)."""
        held = self._held[token] = _Held(began)
        held.signing = asyncio.create_task(self._keep_signing(token, held))

    async def end(self, token: str) -> None:
        """Give none any more; an unknown note is no error."""
        held = self._held.pop(token, None)
        if held is not None and held.signing is not None:
            held.ended.set()
            await asyncio.wait({held.signing})  # a sign that is on its way would come after the note's removal

    def confirm(self) -> None:
        """Return if nobody can have taken us for dead; errors as ``LeaseStore.confirm``."""
        now = seconds()
        if any(now - held.signed_at > LEASE_SILENCE_S_MAX / 2 for held in self._held.values()):
            raise TransientStorageError(
                "this process stood still, or the store did not answer, so long that others may take it for dead",
                hint="begin again; what was stored is found again",
            )

    async def _keep_signing(self, token: str, held: _Held) -> None:
        while not await _ended_within(held.ended, LEASE_RENEW_S):
            began = seconds()
            with suppress(OdfError):  # it is tried again; ``confirm`` says when that took too long
                await self._sign(token)
                held.signed_at = began


async def _ended_within(ended: asyncio.Event, wait_s: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), wait_s)
    return ended.is_set()
