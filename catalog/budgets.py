"""So many things in so much time, for each of many keys: one number a key, and no more keys than fit.

A budget is refilled steadily (GCRA): what is kept of a key is the moment at which it is full again. Time is given by
the caller. Which key and what it costs is decided elsewhere.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

KEYS_MAX: Final = 100_000
"""Keys of one kind that are known, some 200 bytes each; those not used for longest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Budget:
    """``count`` things in ``window_s`` seconds, all of them at once if need be."""

    count: int
    window_s: float

    @property
    def each_s(self) -> float:
        """How long it takes to earn one."""
        return self.window_s / self.count


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a wish: ``left`` of the budget, which is ``full_in_s``; if it was not granted, ``wait_s``."""

    granted: bool
    left: int
    full_in_s: float
    wait_s: float = 0.0


def take(budget: Budget, full_at: float, now: float, cost: int = 1) -> tuple[Taken, float]:
    """Take ``cost`` from a budget that is full at ``full_at``; what became of it, and when it is full now.

    What is not granted takes nothing. A cost above the whole budget never is.
    """
    earlier = min(max(full_at, now), now + budget.window_s)  # a clock that was set back must not lock anybody out
    later = earlier + cost * budget.each_s
    if later - now > budget.window_s * (1 + 1e-9):
        wait_s = later - now - budget.window_s
        return Taken(False, _left(budget, earlier - now), earlier - now, wait_s), earlier
    return Taken(True, _left(budget, later - now), later - now), later


def _left(budget: Budget, full_in_s: float) -> int:
    return max(0, math.floor((budget.window_s - full_in_s) / budget.each_s + 1e-6))


class Budgets:
    """The same budget for each of many keys, in memory."""

    def __init__(self, budget: Budget, *, keys_max: int = KEYS_MAX) -> None:
        self.budget = budget
        self._keys_max = keys_max
        self._full_at: OrderedDict[Hashable, float] = OrderedDict()

    def take(self, key: Hashable, now: float, cost: int = 1) -> Taken:
        """As ``take`` of the module, for ``key``."""
        taken, full_at = take(self.budget, self._full_at.get(key, now), now, cost)
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        while len(self._full_at) > self._keys_max:
            self._full_at.popitem(last=False)
        return taken

    def __len__(self) -> int:
        return len(self._full_at)
