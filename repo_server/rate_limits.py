"""How often somebody may ask: a budget for each account, or for each address of those who have none.

Reading and sending objects have budgets so large that no transfer of the stock client meets them: they hold floods
back. They are counted in each process. Attempts to log in have small ones, which all servers over one catalog share;
an attempt that succeeds costs nothing. What is left is told as draft-ietf-httpapi-ratelimit-headers-10 says.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from aiohttp import hdrs, web

from catalog.attempts import Attempts
from catalog.budgets import Budget, Budgets, Taken
from repo_server.http_errors import TooManyRequests
from repo_server.limit_settings import LimitSettings

POLICY: Final = "RateLimit-Policy"
LEFT: Final = "RateLimit"
LOGINS_OF_NAME: Final = Budget(100, 3_600.0)
"""Failed logins under one name, from all addresses: more than one address may make, so that none can lock it out."""


class Limited(Enum):
    """What requests to a route count as."""

    READS = "reads"
    TRANSFERS = "transfers"
    WRITES = "writes"
    LOGINS = "logins"
    POLLS = "polls"
    GUESSES = "guesses"
    """Requests with a token that is none, whatever they want besides."""
    NOT = "not"


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of a budget somebody has left."""

    kind: Limited
    budget: Budget
    taken: Taken

    def tell(self, headers: dict[str, str]) -> None:
        """Put it into the headers of an answer."""
        name = f'"{self.kind.value}"'
        headers[POLICY] = f"{name};q={self.budget.count};w={math.ceil(self.budget.window_s)}"
        headers[LEFT] = f"{name};r={self.taken.left};t={math.ceil(self.taken.full_in_s)}"

    @property
    def is_worth_telling(self) -> bool:
        """Whether the client had better know: most never come near."""
        return self.taken.left * 2 < self.budget.count


class RateLimits:
    """The budgets of this process, and those that it shares; ``now`` in seconds, of any clock that does not go back."""

    def __init__(self, settings: LimitSettings, attempts: Attempts, now: Callable[[], float]) -> None:
        budgets = {
            Limited.READS: Budget(settings.reads_per_minute, 60.0),
            Limited.TRANSFERS: Budget(settings.transfers_per_minute, 60.0),
            Limited.WRITES: Budget(settings.writes_per_minute, 60.0),
            Limited.POLLS: Budget(settings.login_polls_per_minute, 60.0),
            Limited.GUESSES: Budget(settings.bad_tokens_per_minute, 60.0),
        }
        self._here = {kind: Budgets(budget) for kind, budget in budgets.items() if budget.count}
        self._logins = Budget(settings.failed_logins_per_5_minutes, 300.0)
        self._attempts, self._now = attempts, now

    def take(self, kind: Limited, key: str) -> Standing | None:
        """Count one request; ``None`` where there is no limit.

        Raises:
            TooManyRequests: that was one too many; the headers of the answer say when to come again.
        """
        budgets = self._here.get(kind)
        return None if budgets is None else _granted(Standing(kind, budgets.budget, budgets.take(key, self._now())))

    @asynccontextmanager
    async def attempt(self, key: str, budget: Budget | None = None) -> AsyncIterator[Standing | None]:
        """Count a login inside, unless nothing is raised there; ``key`` is an address, or with a ``budget`` a name.

        Raises:
            TooManyRequests: too many failed of late.
        """
        limit = budget or self._logins
        if not limit.count:
            yield None
            return
        kind = Limited.LOGINS.value if budget is None else "names"
        yield _granted(Standing(Limited.LOGINS, limit, await self._attempts.take(kind, key, limit)))
        await self._attempts.take(kind, key, limit, cost=-1)


def _granted(standing: Standing) -> Standing:
    if not standing.taken.granted:
        error = TooManyRequests(
            f"too many requests of the kind {standing.kind.value}",
            expected=f"at most {standing.budget.count} in {standing.budget.window_s:g} s",
            hint="wait as long as Retry-After says",
        )
        standing.tell(error.headers)
        error.headers[hdrs.RETRY_AFTER] = str(max(1, math.ceil(standing.taken.wait_s)))
        raise error
    return standing


STANDING: Final = web.RequestKey("standing", Standing)
"""Where a request keeps how its caller stands."""


def tell_standing(request: web.Request, response: web.StreamResponse) -> None:
    """Say what is left, on answers to those who have used half of it."""
    standing = request.get(STANDING)
    if standing is not None and standing.is_worth_telling and LEFT not in response.headers:
        told: dict[str, str] = {}
        standing.tell(told)
        response.headers.update(told)
