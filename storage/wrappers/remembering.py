"""Refs that are asked for elsewhere, believed for a while, and remembered for when nobody answers there.

What was told last is kept in another RefStore too, so that it outlives this process. Only reading is passed on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from opendatafabric.errors import RefConflict, TransientStorageError, UnsupportedOperation
from opendatafabric.limits import REMEMBERED_REF_S_MAX
from opendatafabric.multihash import Multihash
from storage.protocols import RefStore

ASK_AGAIN_S: Final = 5.0
"""A store that did not answer is left alone for so long, so that nobody waits for it at every question."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a ref was said to be; times in seconds of the clock, ``heard_at`` is ``None`` for another process's word."""

    head: Multihash | None
    asked_at: float
    heard_at: float | None
    answered: bool = True
    """Whether there was an answer the last time, or what was heard before has to do."""


class RememberingRefStore:
    """``inner``, asked every ``fresh_s`` seconds at most; ``kept`` is for when it does not answer.

    ``now`` in seconds of a clock that never goes back.
    """

    def __init__(
        self, inner: RefStore, kept: RefStore, *, fresh_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.fresh_s = fresh_s
        self._inner = inner
        self._kept = kept
        self._now = now
        self._told: dict[str, Told] = {}
        self._asking = asyncio.Lock()

    async def read(self, name: str) -> Multihash | None:
        return (await self.ask(name)).head

    async def ask(self, name: str) -> Told:
        """As ``read``, with how far it is to be believed.

        Raises:
            TransientStorageError: nobody answers, and nothing was heard before.
        """
        async with self._asking:
            told = self._told.get(name)
            if told is None or self._is_old(told):
                told = self._told[name] = await self._ask(name, told)
            return told

    def age_s(self, told: Told) -> float | None:
        """How long ago that was heard; ``None`` when this process never did."""
        return None if told.heard_at is None else max(0.0, self._now() - told.heard_at)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        raise UnsupportedOperation("a head that is known from elsewhere cannot be moved", hint="push to its source")

    async def list(self) -> dict[str, Multihash]:
        names = sorted({*await self._kept.list(), *self._told})
        heads = {name: await self.read(name) for name in names}
        return {name: head for name, head in heads.items() if head is not None}

    def _is_old(self, told: Told) -> bool:
        believed_s = self.fresh_s if told.answered else min(self.fresh_s, ASK_AGAIN_S)
        return self._now() - told.asked_at >= believed_s

    async def _ask(self, name: str, before: Told | None) -> Told:
        try:
            async with asyncio.timeout(REMEMBERED_REF_S_MAX):
                head = await self._inner.read(name)
        except (TransientStorageError, TimeoutError) as error:
            return await self._unanswered(name, before, error)
        await self._keep(name, head)
        now = self._now()
        return Told(head, now, now)

    async def _unanswered(self, name: str, before: Told | None, error: Exception) -> Told:
        if before is not None:
            return replace(before, asked_at=self._now(), answered=False)
        head = await self._kept.read(name)
        if head is None:
            raise TransientStorageError(f"nobody answers where {name} is asked for: {error or 'too slow'}") from error
        return Told(head, self._now(), None, answered=False)

    async def _keep(self, name: str, head: Multihash | None) -> None:
        known = await self._kept.read(name)
        if known != head:
            with suppress(RefConflict):  # another process heard something at the same moment
                await self._kept.compare_and_swap(name, expected=known, new=head)
